//! How far those have come who follow the changes by a name: what they have not seen stays.

use std::collections::BTreeMap;

use timestrata_format::SeqNo;
use timestrata_format::manifest::ManifestOp;

use super::pins::check_name;
use crate::state::{Edit, Engine};
use crate::{Error, ErrorKind, Result, manifest};

impl Engine {
    /// All followers, with the last commit that each has done.
    pub(crate) fn followers(&self) -> Result<BTreeMap<String, SeqNo>> {
        if let Some(manifest) = &self.manifest {
            return Ok(manifest.lock().state().followers.clone());
        }
        let is_beside = self.follower.is_some();
        let loaded = match is_beside {
            true => manifest::load_again(&*self.io.disk, &self.dir)?,
            false => None,
        };
        Ok(loaded.map(|loaded| loaded.state.followers).unwrap_or_default())
    }

    /// An error where nothing would be kept for a follower that is to be made.
    pub(crate) fn check_can_follow(&self, name: &str) -> Result<()> {
        check_name("follower", name)?;
        if self.lock_manifest()?.history().is_some() {
            return Ok(());
        }
        let message = format!(
            "there can be no follower '{name}': this store keeps no history, so that what it has not seen would go"
        );
        let hint = "set history_min to how long commits are to be kept, such as '10m', and open the store again";
        Err(Error::new(ErrorKind::HistoryLost, message).hinting(hint))
    }

    /// Notes durably that a follower has done all commits up to this one; gives how far it is. Never goes back.
    pub(crate) fn save_follower(&self, name: &str, seq: SeqNo) -> Result<SeqNo> {
        check_name("follower", name)?;
        let mut manifest = self.lock_manifest()?;
        if let Some(known) = manifest.state().followers.get(name).filter(|known| **known >= seq) {
            return Ok(*known);
        }
        let history = manifest.history().ok_or_else(|| self.lost(seq, None))?;
        if !history.has_all_behind(seq) {
            return Err(self.lost(seq, Some(history.oldest())));
        }
        let last_seq = self.core.lock().last_seq;
        if seq > last_seq {
            let message = format!("commit {seq} has not been made: the last one is {last_seq}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::SetFollower { name: name.to_owned(), seq });
        // What a power cut may take has not been followed.
        edit.waits_for(seq);
        edit.commit()?.recycle();
        Ok(seq)
    }

    /// Forgets a follower, and lets go of what only that one needed.
    pub(crate) fn remove_follower(&self, name: &str) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        if !manifest.state().followers.contains_key(name) {
            let shown: String = name.chars().take(80).collect();
            let message = format!("there is no follower '{shown}'");
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::RemoveFollower(name.to_owned()));
        edit.commit()?.recycle();
        Ok(())
    }
}
