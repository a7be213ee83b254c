use super::*;
use crate::optimizer::logical_rules;

#[test]
fn a_plan_of_nothing_needs_only_rules_that_are_always_used() {
    let rules = logical_rules();
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    // A rule that is called otherwise one day would be used for nothing again.
    for name in OF_SEVERAL_TABLES {
        assert!(names.contains(&name), "{name} is none of {names:?}");
    }
    let parts = Parts::default();
    let needed: Vec<&str> = names.into_iter().filter(|name| parts.need(name)).collect();
    assert_eq!(
        needed,
        ["simplify_expressions", "common_sub_expression_eliminate", "optimize_projections"]
    );
}
