use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn codes_are_looked_up_or_refused(
        count in prop_oneof![0_usize..5, 250_usize..260, 4_090_usize..4_100, 65_530_usize..65_540],
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
        beyond in prop::option::of(prop_oneof![0_u32..3, Just(1 << 31), Just(u32::MAX - (1 << 17))]),
    ) {
        let table = CodeTable::new((0..count).map(|code| code * 3).collect());
        let mut codes: Vec<u32> = match count {
            0 => Vec::new(),
            _ => picks.iter().map(|pick| u32::try_from(pick.index(count)).unwrap()).collect(),
        };
        let expected: Vec<usize> = codes.iter().map(|code| *code as usize * 3).collect();
        let mut found = vec![7];
        prop_assert!(table.look_up(&codes, &mut found));
        prop_assert_eq!(&found[1..], expected.as_slice());
        for (code, value) in codes.iter().zip(expected) {
            prop_assert_eq!(table.get(*code), Some(value));
        }
        if let Some(beyond) = beyond {
            let beyond = u32::try_from(count).unwrap() + beyond;
            codes.insert(codes.len() / 2, beyond);
            prop_assert!(!table.look_up(&codes, &mut found));
            prop_assert_eq!(found.len(), codes.len());
            prop_assert_eq!(table.get(beyond), None);
            let signed: Vec<i32> = codes.iter().map(|code| code.cast_signed()).collect();
            prop_assert!(!table.look_up(&signed, &mut found));
        }
    }
}
