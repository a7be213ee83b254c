//! A graph in SQL: its blocks under its own name, and its edges.

use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, NewBlock};

use crate::support::{answer, sql};

#[test]
fn a_graph_is_a_table_of_blocks_and_one_of_edges() {
    let store = Store::memory(Settings::default()).unwrap();
    let graph = Graph::create(&store, "code", &GraphOptions { keep_versions: 2 }).unwrap();
    let id = |number: u8| BlockId::new([number; 16]);
    let block = |number: u8, name: &'static str, content: &'static str| NewBlock {
        id: Some(id(number)),
        source_uri: Some(name),
        is_text: true,
        content: content.as_bytes(),
        ..NewBlock::default()
    };
    let changes = GraphChanges::new()
        .put(block(1, "a.py", "old"))
        .put(block(1, "a.py", "new"))
        .put(block(2, "b.py", "other"))
        .link(Edge { weight: Some(2.5), ..Edge::new(id(1), "calls", id(2)) })
        .link(Edge::new(id(1), "imports", id(2)))
        .link(Edge::new(id(2), "calls", id(2)));
    graph.change(&changes, Durability::Written).unwrap();
    store.flush().unwrap();
    graph.change(&GraphChanges::new().delete(id(3)), Durability::Written).unwrap();
    let sql = sql(&store);
    assert_eq!(sql.tables().unwrap(), ["code", "code/edges"]);
    let texts = "SELECT source_uri, version FROM code ORDER BY source_uri";
    assert_eq!(answer(&sql, texts), ["a.py 2", "b.py 1"]);
    let callers = "SELECT b.source_uri, e.kind, sum(e.weight) FROM \"code/edges\" e JOIN code b \
                   ON b.id = e.source GROUP BY 1, 2 ORDER BY 1, 2";
    assert_eq!(answer(&sql, callers), ["a.py calls 2.5", "a.py imports NULL", "b.py calls NULL"]);
    let ends = "SELECT count(*) FROM \"code/edges\" WHERE kind = 'calls' AND target = source";
    assert_eq!(answer(&sql, ends), ["1"]);
}
