//! Rust: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language, ReferenceKind};

use crate::told::{calls, edges, expect, expect_calls, facts, graph, imports, references, symbols};

const SOURCE: &str = "\
use std::{fmt, collections::{HashMap as Map, self}};
use crate::shapes::*;
mod shapes;
mod inner { pub fn f() {} }
pub struct Point<T> { x: Arc<T>, next: Option<u8> }
enum Kind { A(u8) }
trait Area: fmt::Debug + Send { fn area(&self) -> f64; fn twice(&self) { self.area(); } }
impl<T> Area for Point<T> {
    fn area(&self) -> f64 { self.x.get().min(inner::f::<u8>()) }
}
impl Point<u8> { pub fn new(p: Point<u8>) -> Self { Self { x: 1 } } }
macro_rules! hi { ($e:expr) => { greet($e) } }
#[cfg(any(unix))]
fn main() {
    let k = Kind::A(1);
    println!(\"{}\", Point::new(k).area(), hi!(f(2)));
    (main)();
}
union U { a: u8 }
type Alias = Point<u8>;
";

#[test]
fn symbols_belong_to_their_types() {
    expect(
        &symbols(&facts(Language::Rust, SOURCE)),
        &[
            "module inner 4:0-4:27",
            "function inner.f 4:12-4:25",
            "struct Point 5:0-5:51",
            "enum Kind 6:0-6:19",
            "trait Area 7:0-7:89",
            "method Area.area 7:32-7:54",
            "method Area.twice 7:55-7:87",
            "extension Point 8:0-10:1 of Point",
            "method Point.area 9:4-9:64",
            "extension Point 11:0-11:69 of Point",
            "method Point.new 11:17-11:67",
            "macro hi! 12:0-12:46",
            "function main 14:0-18:1",
            "struct U 19:0-19:17",
            "type Alias 20:0-20:23",
        ],
    );
}

#[test]
fn imports_are_told_a_name_each() {
    expect(
        &imports(&facts(Language::Rust, SOURCE)),
        &[
            "std fmt 1:10",
            "std.collections HashMap as Map 1:29",
            "std collections 1:45",
            "crate.shapes * 2:4",
            "self shapes 3:4",
        ],
    );
}

#[test]
fn calls_are_found_in_what_macros_are_given_too() {
    let facts = facts(Language::Rust, SOURCE);
    expect(
        &calls(&facts),
        &[
            "self.area 7:78 in Area.twice",
            ".min 9:41 in Point.area",
            "self.x.get 9:35 in Point.area",
            "inner.f 9:52 in Point.area",
            "Self 11:52 in Point.new",
            "greet 12:33 in hi!",
            "Kind.A 15:18 in main",
            "println! 16:4 in main",
            "Point.new 16:26 in main",
            "hi! 16:41 in main",
            "f 16:45 in main",
            ".area 16:33 in main",
        ],
    );
    expect(
        &references(&facts, ReferenceKind::Inherit),
        &["fmt.Debug 7:17 in Area", "Send 7:25 in Area", "Area 8:8 in Point"],
    );
}

#[test]
fn paths_lead_through_modules_and_crates() {
    let files = [
        (
            "shop/src/lib.rs",
            "pub mod cart;\nmod tools { pub fn helper() { super::top(); } }\npub use cart::Cart;\nfn top() {}\n",
        ),
        (
            "shop/src/cart/mod.rs",
            "mod item;\nuse item::Item;\npub struct Cart { first: Item }\nimpl Cart {\n  pub fn new() -> Self { crate::top(); Self::empty() }\n  fn empty() -> Self { self::free(); Cart { first: Item::new() } }\n  fn go(&self, other: &Item) { self.first.weigh(); other.weigh(); self.stop(); }\n}\nfn free() {}\n",
        ),
        (
            "shop/src/cart/item.rs",
            "use super::Cart;\nuse super::super::tools::helper;\npub struct Item;\nimpl Item { pub fn new() -> Self { helper(); Self } pub fn weigh(&self) {} }\nimpl Cart { fn stop(&self) {} }\n",
        ),
        (
            "app/src/main.rs",
            "use my_shop::{Cart, cart as c};\nfn main() {\n  let cart = Cart::new();\n  cart.go(1);\n  c::Cart::new();\n  my_shop::top();\n}\n#[cfg(test)]\nmod tests { use super::*; #[test] fn t() { main(); assert!(Cart::new().is_empty()); } }\n",
        ),
    ];
    let graph = graph(&files);
    expect(
        &edges(&graph, EdgeKind::Calls),
        &[
            "shop/src/lib.rs::tools.helper -> shop/src/lib.rs::top @2",
            "shop/src/cart/mod.rs::Cart.new -> shop/src/lib.rs::top @5",
            "shop/src/cart/mod.rs::Cart.new -> shop/src/cart/mod.rs::Cart.empty @5",
            "shop/src/cart/mod.rs::Cart.empty -> shop/src/cart/mod.rs::free @6",
            "shop/src/cart/mod.rs::Cart.empty -> shop/src/cart/mod.rs::Cart @6",
            "shop/src/cart/mod.rs::Cart.empty -> shop/src/cart/item.rs::Item.new @6",
            "shop/src/cart/mod.rs::Cart.go -> shop/src/cart/item.rs::Item.weigh @7,7",
            "shop/src/cart/mod.rs::Cart.go -> shop/src/cart/item.rs::Cart.stop @7",
            "shop/src/cart/item.rs::Item.new -> shop/src/lib.rs::tools.helper @4",
            "app/src/main.rs::main -> shop/src/cart/mod.rs::Cart.new @3,5",
            "app/src/main.rs::main -> shop/src/cart/mod.rs::Cart.go @4",
            "app/src/main.rs::main -> shop/src/lib.rs::top @6",
            "app/src/main.rs::tests.t -> app/src/main.rs::main @9",
            "app/src/main.rs::tests.t -> shop/src/cart/mod.rs::Cart.new @9",
            "app/src/main.rs::tests.t -> !assert! @9",
            "app/src/main.rs::tests.t -> !.is_empty @9",
        ],
    );
    let contained = edges(&graph, EdgeKind::Contains);
    let of_another_file =
        "shop/src/cart/mod.rs::Cart -> shop/src/cart/item.rs::Cart.stop @5".to_owned();
    assert!(contained.contains(&of_another_file), "{contained:#?}");
}

/// The story: behind `use self::E::*` each `Ok(..)` was a call of the enum, and `type Err = ()` of a trait's
/// implementation made a call of each `Err(..)`.
#[test]
fn all_names_of_an_enum_are_what_it_can_be_and_types_of_a_trait_are_no_functions() {
    expect_calls(
        &[(
            "src/lib.rs",
            "enum E { A(u8), B { x: u8 }, C }\nuse self::E::*;\nstruct S;\nimpl T for S {\n  type Err = ();\n  fn t(&self) -> R { f(); Self::g(); Err(()) }\n}\nimpl S { fn g() {} }\nfn f() -> R { A(1); B { x: 1 }; Some(2); D(3); Ok(()) }\ntype Err = u8;\nfn h() { Err(1); E::A(2); E::g() }\nimpl E { fn g() { Self::A(1); } }\n",
        )],
        &[
            "src/lib.rs::S.t -> src/lib.rs::S.g @6",
            "src/lib.rs::S.t -> src/lib.rs::f @6",
            "src/lib.rs::S.t -> !Err @6",
            "src/lib.rs::f -> src/lib.rs::E @9,9",
            "src/lib.rs::f -> !Some @9",
            "src/lib.rs::f -> !D @9",
            "src/lib.rs::f -> !Ok @9",
            "src/lib.rs::h -> src/lib.rs::E @11",
            "src/lib.rs::h -> src/lib.rs::E.g @11",
            "src/lib.rs::h -> !Err @11",
            "src/lib.rs::E.g -> src/lib.rs::E @12",
        ],
    );
}

#[test]
fn traits_give_their_types_what_they_have() {
    expect_calls(
        &[(
            "src/lib.rs",
            "trait Run { fn step(&self); fn run(&self) { self.step() } }\nstruct A;\nimpl Run for A { fn step(&self) {} }\nfn f(a: &A, r: Box<dyn Run>) { a.run(); r.step(); }\nenum E { V(u8) }\nfn g() { E::V(1); }\n",
        )],
        &[
            "src/lib.rs::Run.run -> src/lib.rs::Run.step @1",
            "src/lib.rs::f -> src/lib.rs::Run.run @4",
            "src/lib.rs::f -> src/lib.rs::Run.step @4",
            "src/lib.rs::g -> src/lib.rs::E @6",
        ],
    );
}
