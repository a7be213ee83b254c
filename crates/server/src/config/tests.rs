use super::*;

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn origin_of(layers: &Layers, key: &str) -> String {
    layers
        .all()
        .find(|(name, ..)| *name == key)
        .map(|(_, _, origin, _)| origin.to_string())
        .unwrap()
}

#[test]
fn flags_go_over_the_environment_over_the_file_over_defaults() {
    let mut layers = Layers::default();
    let file = "[server]\nlisten = \"127.0.0.1:1\"\nstop_grace = \"1s\"\n[limits]\nrows_max = 5\n";
    layers.file(file, "t.toml").unwrap();
    layers
        .environment(variables(&[
            ("TIMESTRATA_SERVER_LISTEN", "127.0.0.1:2"),
            ("TIMESTRATA_LIMITS_ROWS_MAX", "6"),
            ("TIMESTRATA_CACHE", "not of a section"),
            ("HOME", "x"),
        ]))
        .unwrap();
    layers.flag("--listen", "server.listen", "127.0.0.1:3").unwrap();
    let config = layers.config().unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!((config.rows_max, config.stop_grace), (6, Duration::from_secs(1)));
    assert_eq!(config.body_bytes_max, 16 << 30);
    assert_eq!(origin_of(&layers, "server.listen"), "flag --listen");
    assert_eq!(origin_of(&layers, "limits.rows_max"), "environment, TIMESTRATA_LIMITS_ROWS_MAX");
    assert_eq!(origin_of(&layers, "server.stop_grace"), "t.toml");
    assert_eq!(origin_of(&layers, "log.form"), "default");
}

#[test]
fn unknown_keys_are_errors_that_name_the_known_ones() {
    let cases = [
        ("[server]\nlissten = \"x\"\n", "server.lissten", "server.listen"),
        ("[sever]\nlisten = \"x\"\n", "sever.listen", "limits.rows_max"),
        ("listen = \"x\"\n", "'listen'", "server.listen"),
    ];
    for (file, named, offered) in cases {
        let error = Layers::default().file(file, "t.toml").unwrap_err().to_string();
        assert!(error.contains(named) && error.contains(offered), "{error}");
        assert!(error.contains("t.toml"), "{error}");
    }
    let wrong = variables(&[("TIMESTRATA_SERVER_LISTN", "x")]);
    let error = Layers::default().environment(wrong).unwrap_err().to_string();
    assert!(error.contains("TIMESTRATA_SERVER_LISTN"), "{error}");
}

#[test]
fn values_that_can_not_be_read_name_key_value_and_origin() {
    let cases = [
        ("server.listen", "localhost", "an address"),
        ("limits.body_bytes_max", "lots", "a size"),
        ("limits.request_time_max", "5", "a duration"),
        ("limits.rows_max", "0", "at least 1"),
        ("sql.may_write", "yes", "true or false"),
        ("log.form", "xml", "json or text"),
        ("log.level", "loud", "error, warn"),
        ("log.level", "info,timestrata_server=loud", "MODULE=LEVEL"),
        ("logs.tcp_listen", "5260", "empty, or an address"),
        ("logs.tcp_log", "", "a log's name"),
        ("logs.tcp_durability", "buffered", "synced or written"),
    ];
    for (key, value, form) in cases {
        let mut layers = Layers::default();
        layers.flag("--set", key, value).unwrap();
        let error = layers.config().unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(value) && error.contains(form), "{error}");
        assert!(error.contains("flag --set"), "{error}");
    }
}

#[test]
fn text_that_is_no_toml_names_the_line() {
    let error = Layers::default().file("[server]\nlisten = \n", "t.toml").unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    let nested = "[server]\nlisten = [1]\n";
    let error = Layers::default().file(nested, "t.toml").unwrap_err().to_string();
    assert!(error.contains("server.listen must be text"), "{error}");
}

#[test]
fn the_line_protocol_is_off_unless_it_has_an_address() {
    assert!(Layers::default().config().unwrap().log_tcp.is_none());
    let mut layers = Layers::default();
    layers.file("[logs]\ntcp_listen = \"127.0.0.1:5260\"\n", "t.toml").unwrap();
    layers.environment(variables(&[("TIMESTRATA_LOGS_TCP_DURABILITY", "written")])).unwrap();
    let config = layers.config().unwrap().log_tcp.unwrap();
    assert_eq!((config.listen.port(), config.log.as_str()), (5260, "default"));
    assert_eq!(config.durability, Durability::Written);
}

#[test]
fn no_setting_of_a_store_is_missing_in_serve() {
    for setting in Setting::all() {
        let key = format!("store.{}", setting.name());
        let (default, ..) = (KEYS.iter().find(|known| known.name == key))
            .map(|known| (known.default.clone(), known.about))
            .unwrap();
        assert_eq!(default, setting.shown(&store_settings()), "{key}");
        let other = match default.as_str() {
            "background" => "manual",
            "raise" => "flush",
            _ if setting.expected().contains("duration") => "77ms",
            _ => "77000000",
        };
        // By the environment, which has a name for each key.
        let variable = format!("TIMESTRATA_STORE_{}", setting.name().to_ascii_uppercase());
        let mut layers = Layers::default();
        layers.flag("--set", "store.memory_bytes_max", "1GiB").unwrap();
        layers.environment(variables(&[(&variable, other)])).unwrap();
        let settings = layers.config().unwrap().settings;
        let mut expected = Settings { memory_bytes_max: 1 << 30, ..store_settings() };
        setting.set(&mut expected, other).unwrap();
        assert_eq!(settings, expected, "{key}");
    }
}

#[test]
fn settings_of_the_store_that_can_not_work_together_are_told_before_it_is_opened() {
    let mut layers = Layers::default();
    layers.flag("--set", "store.memtable_bytes_max", "1GiB").unwrap();
    let error = layers.config().unwrap_err().to_string();
    assert!(error.contains("memory_bytes_max must be at least memtable_bytes_max"), "{error}");
    layers.flag("--set", "store.memory_bytes_max", "2GiB").unwrap();
    layers.flag("--set", "store.level0_runs_max", "0").unwrap();
    let error = layers.config().unwrap_err().to_string();
    assert!(
        error.contains("store.level0_runs_max = \"0\"") && error.contains("flag --set"),
        "{error}"
    );
}

#[test]
fn origins_are_places_and_no_pages() {
    let read = |text: &str| {
        let mut layers = Layers::default();
        layers.flag("test", "server.cors_origins", text).unwrap();
        layers.config().map(|config| config.cors_origins)
    };
    assert_eq!(
        read("https://App.example, http://[::1]:3000").unwrap(),
        ["https://app.example", "http://[::1]:3000"]
    );
    assert!(read("").unwrap().is_empty());
    for wrong in
        ["app.example", "https://app.example/", "https://", "null", "ftp://a", "https://a b"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn checkpoints_on_an_interval_need_a_key() {
    let mut layers = Layers::default();
    layers.flag("--set", "topics.checkpoint_interval", "1m").unwrap();
    let error = layers.config().unwrap_err().to_string();
    assert!(error.contains("topics.key_file") && error.contains("flag --set"), "{error}");
    layers.flag("--set", "topics.key_file", "signing.key").unwrap();
    assert_eq!(layers.config().unwrap().checkpoint_interval, Some(Duration::from_secs(60)));
    for wrong in ["0s", "often"] {
        layers.flag("--set", "topics.checkpoint_interval", wrong).unwrap();
        assert!(layers.config().is_err(), "{wrong}");
    }
}
