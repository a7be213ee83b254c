use super::*;

/// The fields of the struct, as its source has them.
fn fields() -> Vec<&'static str> {
    let source = include_str!("../../settings.rs");
    let (_, rest) = source.split_once("pub struct Settings {").unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    pub "));
    lines.map(|line| line.split(':').next().unwrap()).collect()
}

#[test]
fn no_setting_of_a_store_lacks_a_name_and_a_meaning() {
    let names: Vec<_> = Setting::all().iter().map(Setting::name).collect();
    assert_eq!(names, fields());
    assert!(Setting::all().iter().all(|setting| !setting.about().is_empty()));
}

#[test]
fn what_is_shown_of_a_setting_sets_it() {
    let default = Settings::default();
    for setting in Setting::all() {
        let mut settings = default.clone();
        setting.set(&mut settings, &setting.shown(&default)).unwrap();
        assert_eq!(settings, default, "{}", setting.name());
    }
}

#[test]
fn each_setting_is_its_own_and_refuses_what_it_can_not_be() {
    for setting in Setting::all() {
        let (mut settings, default) = (Settings::default(), Settings::default());
        let other = match setting.form() {
            SettingForm::Size | SettingForm::SizeOrNone => "12345",
            SettingForm::Count | SettingForm::CountOrNone => "77",
            SettingForm::Time => "77ms",
            SettingForm::Word => match setting.name() {
                "maintenance" => "manual",
                _ => "flush",
            },
        };
        setting.set(&mut settings, other).unwrap();
        assert_ne!(settings, default, "{}", setting.name());
        for one in Setting::all().iter().filter(|one| one.name() != setting.name()) {
            assert_eq!(one.shown(&settings), one.shown(&default), "{}", setting.name());
        }
        for wrong in ["", "-1", "sometimes"] {
            let error = setting.set(&mut settings, wrong).unwrap_err().to_string();
            let expected = setting.expected();
            assert!(error.contains(setting.name()) && error.contains(&expected), "{error}");
        }
    }
}
