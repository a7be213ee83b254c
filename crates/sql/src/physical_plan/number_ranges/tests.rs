//! Which conditions are ranges of numbers, and which ones.

use datafusion::physical_expr::conjunction;
use datafusion::physical_expr::expressions::{NotExpr, binary, col, lit};

use super::*;

fn schema() -> datafusion::arrow::datatypes::Schema {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    let field = |name, data_type| Field::new(name, data_type, true);
    Schema::new(vec![field("price", DataType::Float64), field("volume", DataType::Int64)])
}

fn compared(
    left: Arc<dyn PhysicalExpr>,
    op: Operator,
    right: Arc<dyn PhysicalExpr>,
) -> Arc<dyn PhysicalExpr> {
    binary(left, op, right, &schema()).unwrap()
}

fn column(name: &str) -> Arc<dyn PhysicalExpr> {
    col(name, &schema()).unwrap()
}

#[test]
fn comparisons_of_all_columns_are_ranges() {
    let more = compared(column("price"), Operator::Gt, lit(120.0));
    let less = compared(lit(200.0), Operator::GtEq, column("price"));
    let volume = compared(column("volume"), Operator::Gt, lit(2_000_i64));
    let price = NumberRange::Floats { lo: Bound::Excluded(120.0), hi: Bound::Included(200.0) };
    let volumes = NumberRange::Whole { first: 2_001, last: i64::MAX };
    let all = conjunction([more.clone(), volume.clone(), less]);
    assert_eq!(number_ranges(&all, 2), [price, volumes]);
    // A column of which nothing is asked has no range, and so there are none.
    assert!(number_ranges(&more, 2).is_empty());
}

#[test]
fn what_asks_something_else_is_no_range() {
    let more = || compared(column("price"), Operator::Gt, lit(120.0));
    let others = [
        compared(column("price"), Operator::NotEq, lit(120.0)),
        compared(column("price"), Operator::Gt, lit(f64::NAN)),
        compared(more(), Operator::Or, more()),
        compared(column("price"), Operator::Lt, column("price")),
        Arc::new(NotExpr::new(more())) as _,
        lit(true),
    ];
    for other in others {
        assert!(number_ranges(&other, 1).is_empty(), "{other}");
        assert!(number_ranges(&conjunction([more(), other.clone()]), 1).is_empty(), "{other}");
    }
}

#[test]
fn ends_of_whole_numbers_are_not_passed_over() {
    let asked = |op, number: i64| {
        let all = number_ranges(&compared(column("volume"), op, lit(number)), 2);
        assert!(all.is_empty(), "the price is missing");
        of_whole(op, number).unwrap()
    };
    let none = NumberRange::Whole { first: i64::MAX, last: i64::MIN };
    assert_eq!(asked(Operator::Lt, i64::MIN), none);
    assert_eq!(asked(Operator::Gt, i64::MAX), none);
    assert_eq!(asked(Operator::Lt, 3), NumberRange::Whole { first: i64::MIN, last: 2 });
    assert_eq!(asked(Operator::Eq, 3), NumberRange::Whole { first: 3, last: 3 });
    assert_eq!(
        asked(Operator::GtEq, i64::MIN),
        NumberRange::Whole { first: i64::MIN, last: i64::MAX }
    );
}
