//! Python: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language, ReferenceKind};

use crate::told::{calls, edges, expect, expect_calls, facts, graph, imports, references, symbols};

const SHAPES: &str = "\
import os.path, json as j
from . import base
from ..deep.er import (a as b,
                       c)
from wild import *

class Shape(base.Thing, Generic[T], metaclass=Meta):
    '''A shape.'''
    @property
    def area(self, unit=default()):
        def inner():
            return os.path.join(self.name, 'x')
        return inner()

    class Corner:
        pass

async def main():
    import sys
    shape = Shape()
    shape.area('x').strip()
    super().run()
    (j.dumps)([])[0](1)
    print(f'{len(x)}')

@decorate
@decorate.more(1)
def last(): ...
";

#[test]
fn symbols_have_their_names_and_spans() {
    expect(
        &symbols(&facts(Language::Python, SHAPES)),
        &[
            "class Shape 7:0-16:12",
            "method Shape.area 10:4-13:22",
            "function Shape.area.inner 11:8-12:47",
            "class Shape.Corner 15:4-16:12",
            "function main 18:0-24:22",
            "function last 28:0-28:15",
        ],
    );
}

#[test]
fn imports_have_their_modules_names_and_aliases() {
    expect(
        &imports(&facts(Language::Python, SHAPES)),
        &[
            "os.path 1:7",
            "json as j 1:16",
            ". base 2:14",
            "..deep.er a as b 3:23",
            "..deep.er c 4:23",
            "wild * 5:17",
            "sys 19:11 in main",
        ],
    );
}

#[test]
fn calls_and_bases_have_their_places() {
    let facts = facts(Language::Python, SHAPES);
    expect(
        &calls(&facts),
        &[
            "property 9:5 in Shape",
            "default 10:24 in Shape.area",
            "os.path.join 12:27 in Shape.area.inner",
            "inner 13:15 in Shape.area",
            "Shape 20:12 in main",
            "shape.area 21:10 in main",
            ".strip 21:20 in main",
            "super 22:4 in main",
            "super.run 22:12 in main",
            "j.dumps 23:7 in main",
            "print 24:4 in main",
            "len 24:13 in main",
            "decorate 26:1",
            "decorate.more 27:10",
        ],
    );
    expect(
        &references(&facts, ReferenceKind::Inherit),
        &["base.Thing 7:17 in Shape", "Generic 7:24 in Shape"],
    );
}

#[test]
fn names_are_found_in_the_scope_the_file_and_through_imports() {
    expect_calls(
        &[
            ("pkg/__init__.py", "from .tool import run as start\n"),
            ("pkg/tool.py", "def run(): run()\ndef other(): pass\n"),
            ("pkg/sub/__init__.py", ""),
            (
                "pkg/sub/leaf.py",
                "from ..tool import other\nfrom .. import tool as t\ndef f():\n  other()\n  t.run()\n  len(t)\n",
            ),
            (
                "main.py",
                "import pkg.tool\nimport pkg.sub.leaf as leaf\nfrom pkg import start, tool\ndef main():\n  pkg.tool.run()\n  leaf.f()\n  start()\n  tool.other()\n  pkg.start()\n",
            ),
        ],
        &[
            "pkg/tool.py::run -> pkg/tool.py::run @1",
            "pkg/sub/leaf.py::f -> pkg/tool.py::other @4",
            "pkg/sub/leaf.py::f -> pkg/tool.py::run @5",
            "pkg/sub/leaf.py::f -> !len @6",
            "main.py::main -> pkg/tool.py::run @5,7,9",
            "main.py::main -> pkg/sub/leaf.py::f @6",
            "main.py::main -> pkg/tool.py::other @8",
        ],
    );
}

#[test]
fn imports_lead_to_files_and_to_what_is_taken_from_them() {
    let graph = graph(&[
        ("a/__init__.py", ""),
        ("a/b.py", "def f(): pass\n"),
        ("m.py", "import a.b\nfrom a import b\nfrom a.b import f, g\nimport os\n"),
    ]);
    expect(
        &edges(&graph, EdgeKind::Imports),
        &[
            "m.py -> a/__init__.py @2",
            "m.py -> a/b.py @1,2,3,3",
            "m.py -> a/b.py::f @3",
            "m.py -> !os @4",
        ],
    );
}

#[test]
fn methods_are_found_through_self_bases_and_instances() {
    expect_calls(
        &[
            ("base.py", "class Base:\n  def run(self): self.step()\n  def step(self): pass\n"),
            (
                "made.py",
                "import base\nclass Made(base.Base):\n  def __init__(self, other: base.Base):\n    super().__init__()\n    self.helper = Helper()\n    self.other = other\n  def step(self):\n    super().step()\n    self.run()\n    self.helper.help()\n    self.other.run()\n    self.nothing()\nclass Helper:\n  def help(this): this.help()\ndef main():\n  made = Made()\n  made.run()\n  with Helper() as h: h.help()\n",
            ),
        ],
        &[
            "base.py::Base.run -> base.py::Base.step @2",
            "made.py::Made.__init__ -> !super @4",
            "made.py::Made.__init__ -> !super.__init__ @4",
            "made.py::Made.step -> !super @8",
            "made.py::Made.__init__ -> made.py::Helper @5",
            "made.py::Made.step -> base.py::Base.step @8",
            "made.py::Made.step -> base.py::Base.run @9,11",
            "made.py::Made.step -> made.py::Helper.help @10",
            "made.py::Made.step -> !self.nothing @12",
            "made.py::Helper.help -> made.py::Helper.help @14",
            "made.py::main -> made.py::Made @16",
            "made.py::main -> base.py::Base.run @17",
            "made.py::main -> made.py::Helper @18",
            "made.py::main -> made.py::Helper.help @18",
        ],
    );
}

#[test]
fn variables_hide_what_is_further_out() {
    expect_calls(
        &[(
            "m.py",
            "import json\ndef run(): pass\ndef f(run, json):\n  run()\n  json.dumps()\ndef g():\n  run = 1\n  def h():\n    run()\ndef k():\n  global run\n  run = other\n  run()\n",
        )],
        &[
            "m.py::f -> !run @4",
            "m.py::f -> !json.dumps @5",
            "m.py::g.h -> !run @9",
            "m.py::k -> m.py::run @13",
        ],
    );
}

#[test]
fn what_a_class_holds_is_not_in_the_scope_of_its_methods() {
    expect_calls(
        &[("m.py", "class A:\n  def f(self): f()\n  x = f(1)\n")],
        &["m.py::A.f -> !f @2", "m.py::A -> m.py::A.f @3"],
    );
}

#[test]
fn circles_of_bases_and_imports_end() {
    expect_calls(
        &[
            ("a.py", "from b import f\nimport b\nclass A(b.B):\n  def m(self): self.gone()\nf()\n"),
            (
                "b.py",
                "from a import f\nfrom a import *\nfrom b import *\nimport a\nclass B(a.A): pass\n",
            ),
        ],
        &["a.py::A.m -> !self.gone @4", "a.py -> !f @5"],
    );
}

#[test]
fn duplicates_have_numbers_and_the_last_one_counts() {
    let graph = graph(&[("m.py", "def f(): pass\ndef f(): pass\nf()\n")]);
    let keys: Vec<&str> = graph.nodes.iter().map(|node| node.key.as_str()).collect();
    assert_eq!(keys, ["m.py", "m.py::f", "m.py::f#2"]);
    expect(&edges(&graph, EdgeKind::Calls), &["m.py -> m.py::f#2 @3"]);
}

#[test]
fn a_name_that_only_one_has_is_marked_as_a_guess() {
    expect_calls(
        &[
            (
                "a.py",
                "class A:\n  def peculiar(self): pass\n  def append(self): pass\ndef lonely(): pass\n",
            ),
            (
                "b.py",
                "import os\ndef f(x):\n  x.peculiar()\n  x.append()\n  lonely()\n  os.lonely()\n",
            ),
        ],
        &[
            "b.py::f -> ?a.py::A.peculiar @3",
            "b.py::f -> ?a.py::lonely @5",
            "b.py::f -> !x.append @4",
            "b.py::f -> !os.lonely @6",
        ],
    );
}
