//! C: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language};

use crate::told::{calls, edges, expect, facts, graph, imports, symbols};

const SOURCE: &str = "\
#include <stdio.h>
#include \"shape.h\"
#define TWICE(x) ((x) + (x))
struct point { int x; };
typedef struct { int y; } size;
typedef struct node { struct node *next; } node;
typedef int (*callback)(int);
enum kind { A, B };
static int helper(struct point *p, callback cb) { return cb(p->x) + TWICE(2); }
char *const name(void) {
    shape->ops.draw(helper(0, 0));
    return (strdup)(\"a\");
}
";

#[test]
fn symbols_includes_and_calls_have_their_places() {
    let facts = facts(Language::C, SOURCE);
    expect(
        &symbols(&facts),
        &[
            "macro TWICE 3:0-4:0",
            "struct point 4:0-4:23",
            "struct size 5:0-5:31",
            "struct node 6:8-6:42",
            "type callback 7:0-7:29",
            "enum kind 8:0-8:18",
            "function helper 9:0-9:79",
            "function name 10:0-13:1",
        ],
    );
    let hidden: Vec<bool> = facts.symbols.iter().map(|symbol| symbol.is_hidden).collect();
    assert_eq!(hidden, [false, false, false, false, false, false, true, false]);
    expect(&imports(&facts), &["stdio.h * 1:9", ".shape.h * 2:9"]);
    expect(
        &calls(&facts),
        &[
            "cb 9:57 in helper",
            "TWICE 9:68 in helper",
            "shape.ops.draw 11:15 in name",
            "helper 11:20 in name",
            "strdup 12:12 in name",
        ],
    );
}

#[test]
fn functions_are_found_in_the_file_its_includes_and_by_linking() {
    let files = [
        (
            "include/lib/a.h",
            "#define WRAP(x) x\nstatic inline int quick(void) { return 1; }\nint far(void);\n",
        ),
        (
            "src/a.c",
            "#include \"../include/lib/a.h\"\nstatic int own(void) { return WRAP(far()); }\nint main(void) { own(); quick(); hidden(); printf(\"\"); twice(); }\n",
        ),
        (
            "src/b.c",
            "#include <lib/a.h>\nstatic int hidden(void) { return 1; }\nint far(void) { return quick() + hidden(); }\nint twice(void) {}\n",
        ),
        ("test/c.c", "int twice(void) {}\nint t(void) { twice(); }\n"),
    ];
    let graph = graph(&files);
    expect(
        &edges(&graph, EdgeKind::Calls),
        &[
            "src/a.c::own -> include/lib/a.h::WRAP @2",
            "src/a.c::own -> src/b.c::far @2",
            "src/a.c::main -> src/a.c::own @3",
            "src/a.c::main -> include/lib/a.h::quick @3",
            "src/a.c::main -> src/b.c::twice @3",
            "src/a.c::main -> !hidden @3",
            "src/a.c::main -> !printf @3",
            "src/b.c::far -> include/lib/a.h::quick @3",
            "src/b.c::far -> src/b.c::hidden @3",
            "test/c.c::t -> test/c.c::twice @2",
        ],
    );
    expect(
        &edges(&graph, EdgeKind::Imports),
        &["src/a.c -> include/lib/a.h @1", "src/b.c -> include/lib/a.h @1"],
    );
}
