//! Go: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language, ReferenceKind};

use crate::told::{calls, edges, expect, facts, graph, imports, references, symbols};

const SOURCE: &str = "\
package shop

import (
	\"fmt\"
	db \"example.com/shop/internal/db\"
)

type Cart struct {
	Base
	first *db.Item
}
type Runner interface { fmt.Stringer; Run(n int) error }
type ID = string

func (c *Cart) Add(n int) { c.first.Weigh(); fmt.Println(n); func() { helper() }() }
func New() *Cart { return &Cart{first: &db.Item{}} }
";

#[test]
fn symbols_imports_and_calls_have_their_places() {
    let facts = facts(Language::Go, SOURCE);
    expect(
        &symbols(&facts),
        &[
            "struct Cart 8:5-11:1",
            "interface Runner 12:5-12:56",
            "method Runner.Run 12:38-12:54",
            "type ID 13:5-13:16",
            "method Cart.Add 15:0-15:84 of Cart",
            "function New 16:0-16:52",
        ],
    );
    expect(&imports(&facts), &["fmt 4:1", "example.com/shop/internal/db as db 5:4"]);
    expect(
        &calls(&facts),
        &[
            "c.first.Weigh 15:36 in Cart.Add",
            "fmt.Println 15:49 in Cart.Add",
            "helper 15:70 in Cart.Add",
            "Cart 16:27 in New",
            "db.Item 16:43 in New",
        ],
    );
    let bases = references(&facts, ReferenceKind::Inherit);
    expect(&bases, &["Base 9:1 in Cart", "fmt.Stringer 12:28 in Runner"]);
}

#[test]
fn packages_are_folders_and_methods_belong_to_their_receivers() {
    let files = [
        (
            "internal/db/item.go",
            "package db\ntype Item struct{}\nfunc Open() *Item { return NewItem() }\n",
        ),
        (
            "internal/db/more.go",
            "package db\nfunc (i *Item) Weigh() int { return i.Weigh() }\nfunc NewItem() *Item { return nil }\n",
        ),
        ("base.go", "package shop\ntype Base struct{}\nfunc (b Base) Log() {}\nfunc helper() {}\n"),
        ("shop.go", SOURCE),
        (
            "cmd/main.go",
            "package main\nimport \"example.com/shop/internal/db\"\nimport \"strings\"\nfunc main() {\n\titem := db.NewItem()\n\titem.Weigh()\n\tstrings.Split()\n\tvar other db.Item\n\tother.Weigh()\n\tprintln(len(item))\n}\n",
        ),
    ];
    let graph = graph(&files);
    expect(
        &edges(&graph, EdgeKind::Calls),
        &[
            "internal/db/item.go::Open -> internal/db/more.go::NewItem @3",
            "internal/db/more.go::Item.Weigh -> internal/db/more.go::Item.Weigh @2",
            "shop.go::Cart.Add -> internal/db/more.go::Item.Weigh @15",
            "shop.go::Cart.Add -> base.go::helper @15",
            "shop.go::Cart.Add -> !fmt.Println @15",
            "shop.go::New -> shop.go::Cart @16",
            "shop.go::New -> internal/db/item.go::Item @16",
            "cmd/main.go::main -> internal/db/more.go::NewItem @5",
            "cmd/main.go::main -> internal/db/more.go::Item.Weigh @6,9",
            "cmd/main.go::main -> !strings.Split @7",
            "cmd/main.go::main -> !println @10",
            "cmd/main.go::main -> !len @10",
        ],
    );
    let imports = edges(&graph, EdgeKind::Imports);
    assert!(imports.contains(&"cmd/main.go -> internal/db/item.go @2".to_owned()), "{imports:?}");
}
