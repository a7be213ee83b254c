//! Zig: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language};

use crate::told::{calls, edges, expect, expect_calls, facts, graph, imports, symbols};

const SOURCE: &str = "\
const std = @import(\"std\");
const db = @import(\"db/item.zig\");
pub const Base = @import(\"base.zig\").Base;

pub const Cart = struct {
    first: *db.Item,
    state: enum { open, closed, fn next() void {} },

    const Self = @This();

    pub fn add(self: *Self, n: u32) !void {
        try self.first.weigh();
        std.debug.print(\"{}\", .{n});
        helper();
    }
    fn init() Cart { return Cart{ .first = &db.Item{} }; }
};
const Kind = enum(u8) { a, b };
const Value = union(enum) { n: u32 };
const Failure = error{Empty};
extern fn abort() noreturn;
pub fn main() !void {
    var cart = Cart.init();
    try cart.add(@intCast(1));
    const Local = struct { fn less() bool { return true; } };
    std.sort(Local.less);
}
test \"a cart adds\" { try main(); }
test helper { helper(); }
test { _ = @import(\"more.zig\"); }
";

#[test]
fn symbols_imports_and_calls_have_their_places() {
    let facts = facts(Language::Zig, SOURCE);
    expect(
        &symbols(&facts),
        &[
            "struct Cart 5:0-17:2",
            "enum Cart.state 7:4-7:51",
            "method Cart.state.next 7:32-7:49",
            "method Cart.add 11:4-15:5",
            "method Cart.init 16:4-16:58",
            "enum Kind 18:0-18:31",
            "struct Value 19:0-19:37",
            "type Failure 20:0-20:29",
            "function abort 21:0-21:27",
            "function main 22:0-27:1",
            "struct main.Local 25:4-25:61",
            "method main.Local.less 25:27-25:58",
            "function test a cart adds 28:0-28:34",
            "function test helper 29:0-29:25",
            "function test 30:0-30:33",
        ],
    );
    expect(
        &imports(&facts),
        &[
            "std as std 1:20",
            "db/item.zig as db 2:19",
            "base.zig Base 3:25",
            "more.zig as @more 30:19 in test",
        ],
    );
    expect(
        &calls(&facts),
        &[
            "self.first.weigh 12:23 in Cart.add",
            "std.debug.print 13:18 in Cart.add",
            "helper 14:8 in Cart.add",
            "Cart 16:28 in Cart.init",
            "db.Item 16:47 in Cart.init",
            "Cart.init 23:20 in main",
            "cart.add 24:13 in main",
            "std.sort 26:8 in main",
            "main 28:25 in test a cart adds",
            "helper 29:14 in test helper",
        ],
    );
}

#[test]
fn files_are_imported_by_path_and_packages_are_left_unresolved() {
    let files = [
        ("src/main.zig", SOURCE),
        (
            "src/db/item.zig",
            "pub const Item = struct { pub fn weigh(i: *Item) !void { _ = i; } };\n",
        ),
        ("src/base.zig", "const main = @import(\"main.zig\");\npub const Base = struct {};\n"),
        (
            "src/more.zig",
            "const up = @import(\"../build.zig\");\nusingnamespace @import(\"base.zig\");\n",
        ),
        (
            "build.zig",
            "const out = @import(\"../src/main.zig\");\nconst gone = @import(\"gone.zig\");\n",
        ),
        ("src/std.zig", ""),
    ];
    let graph = graph(&files);
    expect(
        &edges(&graph, EdgeKind::Imports),
        &[
            "src/main.zig -> src/db/item.zig @2",
            "src/main.zig -> src/base.zig @3",
            "src/main.zig -> src/base.zig::Base @3",
            "src/main.zig -> src/more.zig @30",
            "src/main.zig -> !std @1",
            "src/base.zig -> src/main.zig @1",
            "src/more.zig -> build.zig @1",
            "src/more.zig -> src/base.zig @2",
            "build.zig -> !../src/main.zig @1",
            "build.zig -> !gone.zig @2",
        ],
    );
    expect(
        &edges(&graph, EdgeKind::Calls),
        &[
            "src/main.zig::Cart.add -> src/db/item.zig::Item.weigh @12",
            "src/main.zig::Cart.add -> !std.debug.print @13",
            "src/main.zig::Cart.add -> !helper @14",
            "src/main.zig::Cart.init -> src/main.zig::Cart @16",
            "src/main.zig::Cart.init -> src/db/item.zig::Item @16",
            "src/main.zig::main -> src/main.zig::Cart.init @23",
            "src/main.zig::main -> src/main.zig::Cart.add @24",
            "src/main.zig::main -> !std.sort @26",
            "src/main.zig::test a cart adds -> src/main.zig::main @28",
            "src/main.zig::test helper -> !helper @29",
        ],
    );
}

#[test]
fn calls_go_through_imported_names_and_those_that_stand_for_them() {
    let files = [
        (
            "list.zig",
            "pub fn join() void {}\nfn hidden() void {}\npub const deep = @import(\"deep.zig\");\n",
        ),
        ("deep.zig", "pub fn sink() void {}\npub fn join() void {}\n"),
        (
            "main.zig",
            "\
const list = @import(\"list.zig\");
const join = @import(\"list.zig\").join;
const sink = @import(\"list.zig\").deep.sink;
const same = list.deep;
fn run(f: *const fn () void) void {
    list.join();
    join();
    list.deep.sink();
    sink();
    same.join();
    @import(\"deep.zig\").sink();
    (list).join();
    f();
    hidden();
}
",
        ),
    ];
    expect_calls(
        &files,
        &[
            "main.zig::run -> list.zig::join @6,7,12",
            "main.zig::run -> deep.zig::sink @8,9,11",
            "main.zig::run -> deep.zig::join @10",
            "main.zig::run -> !f @13",
            "main.zig::run -> !hidden @14",
        ],
    );
}

#[test]
fn a_value_has_the_methods_of_its_type() {
    let files = [
        (
            "list.zig",
            "\
pub fn List(comptime T: type) type {
    return struct {
        const Self = @This();
        items: []T,
        pub fn init() Self { return .{ .items = &.{} }; }
        pub fn grow(self: *Self) void { self.check(); own(); }
        fn check(self: *const @This()) void { _ = self; }
        fn own() void {}
    };
}
",
        ),
        (
            "Page.zig",
            "\
const Page = @This();
size: u32,
pub fn read(page: *Page) void { page.clear(); }
pub fn clear(_: *@This()) void {}
",
        ),
        (
            "main.zig",
            "\
const List = @import(\"list.zig\").List;
const Page = @import(\"Page.zig\");
const Names = List(u8);
const Book = struct {
    page: ?*Page,
    fn turn(book: *Book) void {
        book.page.?.read();
        leave();
    }
    fn leave() void {}
};
fn run(page: *Page) !void {
    page.read();
    var names = try List(u8).init();
    names.grow();
    var others: Names = undefined;
    others.grow();
    const made = &Page{ .size = 1 };
    made.clear();
    for (names.items) |item| item.anything();
}
",
        ),
    ];
    expect_calls(
        &files,
        &[
            "list.zig::List.grow -> list.zig::List.check @6",
            "list.zig::List.grow -> list.zig::List.own @6",
            "Page.zig::read -> Page.zig::clear @3",
            "main.zig -> list.zig::List @3",
            "main.zig::Book.turn -> Page.zig::read @7",
            "main.zig::Book.turn -> main.zig::Book.leave @8",
            "main.zig::run -> Page.zig::read @13",
            "main.zig::run -> list.zig::List.init @14",
            "main.zig::run -> list.zig::List @14",
            "main.zig::run -> list.zig::List.grow @15,17",
            "main.zig::run -> Page.zig @18",
            "main.zig::run -> Page.zig::clear @19",
            "main.zig::run -> !item.anything @20",
        ],
    );
}

#[test]
fn what_is_taken_apart_assigned_or_quoted_is_read() {
    let source = "\
fn @\"while\"() void {}
fn run() void {
    const a, var b = pair();
    a, b = pair();
    b = @\"while\"();
    a.go();
}
";
    expect_calls(
        &[("a.zig", source)],
        &["a.zig::run -> !pair @3,4", "a.zig::run -> a.zig::while @5", "a.zig::run -> !a.go @6"],
    );
}

#[test]
fn types_without_members_are_read() {
    let source = "\
pub const A = struct {};
const B = opaque {
    // Nothing yet.
};
fn f(a: A, b: enum { // none
}) void { g(\"struct {}\"); _ = b; h(a); }
";
    let facts = facts(Language::Zig, source);
    expect(&symbols(&facts), &["struct A 1:0-1:24", "type B 2:0-4:2", "function f 5:0-6:40"]);
    expect(&calls(&facts), &["g 6:10 in f", "h 6:33 in f"]);
}
