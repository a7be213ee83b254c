use super::changes::EdgeChange;
#[derive(Debug, Default)]
pub(super) struct Resident;
impl Resident {
    pub(super) fn change(&mut self, _: &[EdgeChange]) {}
    pub(super) fn forget(&mut self) {}
}
