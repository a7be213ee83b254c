//! The same answers as DataFusion's own comparison gives, for all operators and types.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, UInt32Array,
    UInt64Array,
};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{binary, col, lit};

use super::{Comparison, WrappedExpr, compared};

const OPERATORS: [Operator; 5] =
    [Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq, Operator::NotEq];

fn expect_same(column: ArrayRef, number: ScalarValue) {
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    // A part of a block too, which starts within a byte.
    for rows in [batch.clone(), batch.slice(3, batch.num_rows() - 5)] {
        let schema = Schema::clone(&rows.schema());
        for op in OPERATORS {
            let plain = binary(col("x", &schema).unwrap(), op, lit(number.clone()), &schema);
            let plain = plain.unwrap();
            let ours = Arc::clone(&plain).transform_up(compared).unwrap().data;
            assert!(ours.is::<WrappedExpr<Comparison>>(), "{plain} is not replaced");
            assert_eq!(ours.to_string(), plain.to_string());
            let answers = |expr: &Arc<dyn PhysicalExpr>| {
                expr.evaluate(&rows).unwrap().into_array(rows.num_rows()).unwrap()
            };
            assert_eq!(&answers(&ours), &answers(&plain), "{plain} of {rows:?}");
            let again = Arc::clone(&ours).with_new_children(vec![Arc::clone(&plain)]).unwrap();
            assert!(again.is::<WrappedExpr<Comparison>>() && again.eq(&ours));
        }
    }
}

/// Numbers around 7, each tenth one null.
fn numbers<N>(of: impl Fn(u8) -> N) -> Vec<Option<N>> {
    (0..200_u8).map(|n| (n % 10 != 4).then(|| of(n.wrapping_mul(37) % 15))).collect()
}

#[test]
fn integers_compare_as_they_do_in_datafusion() {
    expect_same(Arc::new(Int32Array::from(numbers(i32::from))), ScalarValue::from(7_i32));
    expect_same(Arc::new(Int64Array::from(numbers(i64::from))), ScalarValue::from(7_i64));
    expect_same(Arc::new(UInt32Array::from(numbers(u32::from))), ScalarValue::from(7_u32));
    expect_same(Arc::new(UInt64Array::from(numbers(u64::from))), ScalarValue::from(7_u64));
}

#[test]
fn floats_compare_as_they_do_in_datafusion_with_zeros_of_both_signs_and_without_numbers() {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -1.5, 7.0];
    for with_nan in [false, true] {
        let nan = if with_nan { f64::NAN } else { 7.0 };
        let value = |n: u8| special.get(usize::from(n)).copied().unwrap_or(nan);
        let doubles: ArrayRef = Arc::new(Float64Array::from(numbers(value)));
        let singles: ArrayRef = Arc::new(Float32Array::from(numbers(|n| value(n) as f32)));
        for number in [7.0, 0.0, -0.0, f64::INFINITY] {
            expect_same(Arc::clone(&doubles), ScalarValue::from(number));
            expect_same(Arc::clone(&singles), ScalarValue::from(number as f32));
        }
    }
}

#[test]
fn what_is_no_number_is_left_alone() {
    let batch =
        RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]);
    let schema = batch.unwrap().schema();
    for (op, number) in [
        (Operator::Gt, ScalarValue::from(f64::NAN)),
        (Operator::Gt, ScalarValue::Float64(None)),
        (Operator::Eq, ScalarValue::from(1.0)),
        (Operator::IsDistinctFrom, ScalarValue::from(1.0)),
    ] {
        let plain = binary(col("x", &schema).unwrap(), op, lit(number), &schema).unwrap();
        let ours = plain.transform_up(compared).unwrap();
        assert!(!ours.transformed, "{}", ours.data);
    }
}
