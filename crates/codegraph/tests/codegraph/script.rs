//! JavaScript and TypeScript: what a file says, and what its names mean.

use timestrata_codegraph::{EdgeKind, Language, ReferenceKind};

use crate::told::{calls, edges, expect, expect_calls, facts, graph, imports, references, symbols};

const SCRIPT: &str = "\
import def, { a as b, c } from './mod.js';
import * as ns from 'pkg';
const { x, y: z } = require('./old');
export * from './all';
export { d as e } from './some';
class Shape extends ns.Base {
  #hidden = () => this.area();
  static make() { return new Shape(b); }
  area() { super.area(); return this.#hidden(); }
}
const arrow = (n) => n.map(v => twice(v));
const api = { run() { stop(); }, stop: () => {} };
function* gen() { yield* other?.more(); }
export default function () { api.run(); }
module.exports.late = function () {};
Shape.prototype.old = function () { this.area(); };
const el = <Panel.Head on={() => arrow()}><Box/><div/></Panel.Head>;
(async () => { await import('./lazy'); tag`x`; })();
";

#[test]
fn scripts_tell_their_symbols_imports_and_calls() {
    let facts = facts(Language::JavaScript, SCRIPT);
    expect(
        &symbols(&facts),
        &[
            "class Shape 6:0-10:1",
            "method Shape.#hidden 7:2-7:29",
            "method Shape.make 8:2-8:40",
            "method Shape.area 9:2-9:49",
            "function arrow 11:6-11:41",
            "module api 12:6-12:49",
            "function api.run 12:14-12:31",
            "function api.stop 12:33-12:47",
            "function gen 13:0-13:41",
            "function default 14:0-14:41",
            "function late 15:0-15:36",
            "method Shape.old 16:0-16:50 of Shape",
        ],
    );
    expect(
        &imports(&facts),
        &[
            "./mod.js default as def 1:7",
            "./mod.js a as b 1:14",
            "./mod.js c 1:22",
            "pkg as ns 2:7",
            "./old x 3:8",
            "./old y as z 3:11",
            "./old 3:28",
            "./all * 4:14",
            "./some d as e 5:9",
            "./lazy 18:28",
        ],
    );
    expect(
        &calls(&facts),
        &[
            "this.area 7:23 in Shape.#hidden",
            "Shape 8:29 in Shape.make",
            "super.area 9:17 in Shape.area",
            "this.#hidden 9:37 in Shape.area",
            "n.map 11:23 in arrow",
            "twice 11:32 in arrow",
            "stop 12:22 in api.run",
            "other.more 13:32 in gen",
            "api.run 14:33 in default",
            "this.area 16:41 in Shape.old",
            "Panel.Head 17:18",
            "arrow 17:33",
            "Box 17:43",
            "tag 18:39",
        ],
    );
    expect(&references(&facts, ReferenceKind::Inherit), &["ns.Base 6:23 in Shape"]);
}

const TYPED: &str = "\
interface Runner extends Base<number>, ns.Other { run(n: number): void; name: Helper }
abstract class Made<T> extends Parent<T> implements Runner, Other {
  private helper: Helper;
  constructor(private store: Store) { super(); this.store.save(); }
  abstract area(): number;
  run = async () => { this.helper.help(); };
}
enum Kind { A = 1 }
type Alias = Made<string>;
namespace Inner { export function f(): void {} }
function over(a: string): void;
function over(a: any) { a!.go(); <Alias>a; }
";

#[test]
fn types_are_told_too() {
    let facts = facts(Language::TypeScript, TYPED);
    expect(
        &symbols(&facts),
        &[
            "interface Runner 1:0-1:86",
            "method Runner.run 1:50-1:70",
            "class Made 2:0-7:1",
            "method Made.constructor 4:2-4:67",
            "method Made.area 5:2-5:25",
            "method Made.run 6:2-6:43",
            "enum Kind 8:0-8:19",
            "type Alias 9:0-9:26",
            "module Inner 10:0-10:48",
            "function Inner.f 10:25-10:46",
            "function over 11:0-11:31",
            "function over 12:0-12:44",
        ],
    );
    expect(
        &references(&facts, ReferenceKind::Inherit),
        &[
            "Base 1:25 in Runner",
            "ns.Other 1:42 in Runner",
            "Parent 2:31 in Made",
            "Runner 2:52 in Made",
            "Other 2:60 in Made",
        ],
    );
}

#[test]
fn modules_are_found_with_their_endings_guessed() {
    let files = [
        (
            "src/main.ts",
            "import { Store } from './store';\nimport run, * as all from './lib';\nimport type { T } from './types.js';\nimport { deep } from '@/lib/deep';\nimport React from 'react';\nexport class App {\n  constructor(private store: Store) {}\n  start() { this.store.save(); run(); all.other(); deep(); React.render(); }\n}\nnew App(1).start();\n",
        ),
        (
            "src/store.ts",
            "import { Base } from './base';\nexport class Store extends Base {\n  constructor() { super(); }\n  save() { this.flush(); }\n}\n",
        ),
        ("src/base.tsx", "export default class Base { flush() {} }\nexport { Base };\n"),
        (
            "src/lib/index.js",
            "export default function run() {}\nexport { o as other } from './o.mjs';\nexport * from './deep.js';\n",
        ),
        ("src/lib/o.mjs", "export const o = () => {};\n"),
        ("src/lib/deep.js", "export function deep() {}\n"),
        (
            "src/old.cjs",
            "const { o } = require('./lib/o.mjs');\nconst made = require('./maker');\no(); made(); made.more();\n",
        ),
        (
            "src/maker.js",
            "function maker() {}\nmaker.more = function () {};\nmodule.exports = maker;\n",
        ),
    ];
    let graph = graph(&files);
    expect(
        &edges(&graph, EdgeKind::Calls),
        &[
            "src/main.ts -> src/main.ts::App @10",
            "src/main.ts -> ?src/main.ts::App.start @10",
            "src/main.ts::App.start -> src/store.ts::Store.save @8",
            "src/main.ts::App.start -> src/lib/index.js::run @8",
            "src/main.ts::App.start -> src/lib/o.mjs::o @8",
            "src/main.ts::App.start -> src/lib/deep.js::deep @8",
            "src/main.ts::App.start -> !React.render @8",
            "src/store.ts::Store.constructor -> src/base.tsx::Base @3",
            "src/store.ts::Store.save -> src/base.tsx::Base.flush @4",
            "src/old.cjs -> src/lib/o.mjs::o @3",
            "src/old.cjs -> src/maker.js::maker @3",
            "src/old.cjs -> ?src/maker.js::maker.more @3",
        ],
    );
}

#[test]
fn parameters_hide_functions_and_objects_have_theirs() {
    expect_calls(
        &[(
            "a.js",
            "function run() {}\nfunction f(run) { run(); }\nfunction g() { const run = 1; run(); api.go(); api.gone(); }\nconst api = { go() { run(); } };\n",
        )],
        &[
            "a.js::f -> !run @2",
            "a.js::g -> !run @3",
            "a.js::g -> a.js::api.go @3",
            "a.js::g -> !api.gone @3",
            "a.js::api.go -> a.js::run @4",
        ],
    );
}

#[test]
fn keys_differ_even_where_strings_name_methods() {
    let graph = graph(&[("a.js", "class A { f() {} f() {} 'f#2'() {} #f() {} }\n")]);
    let keys: Vec<&str> = graph.nodes.iter().map(|node| node.key.as_str()).collect();
    assert_eq!(
        keys,
        ["a.js", "a.js::A", "a.js::A.f", "a.js::A.f#2", "a.js::A.f#2#1", "a.js::A.#f"]
    );
}
