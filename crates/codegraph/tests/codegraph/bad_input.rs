//! Sources are input of strangers: whatever they hold, they give facts or a reason.

use proptest::prelude::*;
use timestrata_codegraph::{
    ExtractOptions, Facts, Language, Reason, Unparsed, extract, extract_with, resolve,
};

fn reason(language: Language, bytes: &[u8]) -> (Reason, u32, u32) {
    match extract(language, bytes) {
        Err(Unparsed { reason, at }) => (reason, at.line, at.column),
        Ok(facts) => panic!("was parsed: {facts:?}"),
    }
}

#[test]
fn empty_files_say_nothing() {
    for language in Language::ALL {
        let facts = extract(language, b"").unwrap();
        assert!(facts.symbols.is_empty() && facts.references.is_empty(), "{language:?}");
        assert_eq!(resolve(&[("a", &facts)]).nodes.len(), 1);
    }
}

#[test]
fn what_is_not_text_is_left_out_with_its_place() {
    assert_eq!(reason(Language::Python, b"x = 1\ny = \0"), (Reason::Binary, 2, 4));
    assert_eq!(reason(Language::Python, b"x = 'caf\xe9'\n"), (Reason::Encoding, 1, 8));
    assert_eq!(reason(Language::C, b"\xff\xfei\0n\0t\0"), (Reason::Binary, 1, 3));
}

#[test]
fn a_file_that_is_cut_off_is_left_out_with_the_place() {
    assert_eq!(reason(Language::Python, b"x = 1\ndef f(:\n").1, 2);
    assert_eq!(reason(Language::Rust, b"fn f() {}\nfn g() {\n").1, 2);
    assert_eq!(reason(Language::Go, b"package a\nfunc f( {\n").1, 2);
    assert_eq!(reason(Language::Zig, b"const a = 1;\nfn f( void {\n").1, 2);
    assert_eq!(reason(Language::C, b"int f(void) { return 1;\n").0, Reason::Missing);
}

#[test]
fn large_files_are_left_out() {
    let options = ExtractOptions { bytes_max: 10 };
    let error = extract_with(Language::Python, b"12345678901", &options).unwrap_err();
    assert_eq!(error.reason, Reason::TooLarge { bytes: 11, bytes_max: 10 });
    assert!(extract_with(Language::Python, b"1234567890", &options).is_ok());
}

#[test]
fn a_mark_of_byte_order_and_line_ends_of_windows_do_no_harm() {
    let facts = extract(Language::Python, b"\xef\xbb\xbfdef f():\r\n    g()\r\n").unwrap();
    let call = facts.references[0];
    assert_eq!((call.at.line, call.at.column), (2, 4));
    assert_eq!(facts.text(facts.symbols[0].name), "f");
}

/// Gives facts or a reason, and facts that can be resolved.
fn survive(language: Language, bytes: &[u8]) -> Option<Facts> {
    let facts = extract(language, bytes).ok();
    if let Some(facts) = &facts {
        let _ = resolve(&[("a/b", facts)]);
    }
    facts
}

#[test]
fn deep_nesting_overflows_no_stack() {
    const DEPTH: usize = 100_000;
    for language in Language::ALL {
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("a.", ""), ("!", "")]
        {
            let source = format!("{}x{}", open.repeat(DEPTH), close.repeat(DEPTH));
            survive(language, source.as_bytes());
        }
        survive(language, "(".repeat(DEPTH).as_bytes());
        survive(language, "f(a[".repeat(DEPTH).as_bytes());
    }
    let nested: [(Language, &str, &str); 6] = [
        (Language::Rust, "fn f() {", "}"),
        (Language::Rust, "mod a {", "}"),
        (Language::JavaScript, "function f() {", "}"),
        (Language::TypeScript, "class A { m() {", "}}"),
        (Language::C, "int f() {", "}"),
        (Language::Zig, "const A = struct { fn f() void {", "}};"),
    ];
    for (language, open, close) in nested {
        let source = open.repeat(DEPTH / 4) + &close.repeat(DEPTH / 4);
        survive(language, source.as_bytes());
    }
}

#[test]
fn long_lines_and_long_names_are_read() {
    let line = format!("x = {}1\n", "1 + ".repeat(5 << 18));
    assert!(extract(Language::Python, line.as_bytes()).is_ok());
    let class =
        format!("class {}:\n{}", "A".repeat(1 << 20), "  def f(self): pass\n".repeat(1_000));
    let facts = survive(Language::Python, class.as_bytes()).unwrap();
    assert_eq!(facts.symbols.len(), 1_001);
}

const REAL: [(Language, &str); 7] = [
    (
        Language::Python,
        "from .a import b as c\nclass A(c.B):\n  x: int = C()\n  @d\n  def f(self, *a, k=1, **kw):\n    \
         with g() as h: self.y = h.i(j)[0](); return super().f(lambda z: z)\nif __name__: A().f(1)\n",
    ),
    (
        Language::Rust,
        "use a::{b as c, d::*};mod m;impl<T> A<T> for B{fn f(&self,x:&C)->D{let y=D::new(x)?;\
         self.g(|z|z.h::<u8>());e!(i(j),k.l());D{m:1}}}",
    ),
    (
        Language::C,
        "#include <a.h>\n#define B(x) x\nstatic int *f(struct c *d, int (*e)(void)) { return g(d->h(e)); }\n\
         typedef struct { int i; } j;\n",
    ),
    (
        Language::JavaScript,
        "import a,{b as c} from './d';const {e}=require('f');class G extends a.H{#i=()=>this.j();k(){\
         super.k(<L/>)}}module.exports={m:b};export default n=>o`p${q()}`;",
    ),
    (
        Language::Tsx,
        "abstract class A<T> extends B<T> implements C{constructor(private d:E){super()}f=()=><G h={i()}/>}\
         namespace j{export const k=new L<M>()}",
    ),
    (
        Language::Go,
        "package a\nimport b \"c/d\"\ntype E struct{F;g *b.H}\nfunc (e *E) I(j b.K) (l int){m:=&E{};\
         for n:=range o(){m.g.P(n)};return NewQ().R()}\n",
    ),
    (
        Language::Zig,
        "const a=@import(\"b.zig\").c;fn D(comptime T:type)type{return struct{const Self=@This();e:?*a.F,\
         fn g(self:*Self)!T{var h=try D(u8).init();if(h)|i|i.j();return .{.k=@import(\"l\").m()};}};}\
         test \"n\"{const o,var p=q();o=p.?.*.r();}usingnamespace @import(\"s.zig\");",
    ),
];

fn mutated() -> impl Strategy<Value = (Language, Vec<u8>)> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    let source = prop::sample::select(REAL.to_vec());
    (source, prop::collection::vec(change, 0..6)).prop_map(|((language, source), changes)| {
        let mut bytes = source.as_bytes().to_vec();
        for (at, byte, kind) in changes {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            match kind {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte & 0x7f),
                2 if at < bytes.len() => bytes[at] = byte,
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        (language, bytes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            prop::collection::vec(1..0x80_u8, 0..200),
            ".{0,100}".prop_map(String::into_bytes),
        ],
    ) {
        for language in Language::ALL {
            survive(language, &bytes);
        }
    }

    #[test]
    fn random_tokens_never_panic(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "class ", "def ", "fn ", "impl ", "struct ", "import ", "from ", "use ", "a", "b", ".",
            "::", "(", ")", "{", "}", "[", "]", ":", ";", ",", "\n", "  ", "=", "=>", "->", "func ",
            "type ", "interface ", "extends ", "'x'", "\"y\"", "#include ", "self", "*", "&", "<", ">",
            "new ", "for ", "as ", "const ", "pub ", "@import(", "@This()", "test ", "|", "export ", "default ", "package ", "trait ", "mod ", "function ",
        ]), 0..40),
    ) {
        let source = tokens.concat();
        for language in Language::ALL {
            survive(language, source.as_bytes());
        }
    }

    #[test]
    fn changed_and_cut_sources_never_panic((language, bytes) in mutated()) {
        survive(language, &bytes);
    }
}
