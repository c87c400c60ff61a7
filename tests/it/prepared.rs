//! Worlds that many tests begin with: made once, kept in memory, and written out for each test.

use crate::harness::World;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use walkdir::WalkDir;

/// The files of a world, with the time that its next command would see.
pub struct Prepared {
    directories: Vec<PathBuf>,
    files: Vec<PreparedFile>,
    seconds: u64,
}

struct PreparedFile {
    path: PathBuf,
    mode: u32,
    bytes: Vec<u8>,
}

impl Prepared {
    fn of(world: &World) -> Self {
        let base = world.base();
        let place = world.root();
        let place = place.as_os_str().as_bytes();
        let mut prepared = Self {
            directories: Vec::new(),
            files: Vec::new(),
            seconds: world.seconds(),
        };
        for entry in WalkDir::new(base).min_depth(1).sort_by_file_name() {
            let entry = entry.expect("an entry");
            let path = entry.path().strip_prefix(base).expect("below").to_owned();
            if entry.file_type().is_dir() {
                prepared.directories.push(path);
                continue;
            }
            assert!(
                entry.file_type().is_file(),
                "{} is not a file",
                path.display()
            );
            let bytes = fs::read(entry.path()).expect("readable");
            let names_place = bytes.windows(place.len()).any(|part| part == place);
            assert!(
                !names_place,
                "{} names the place of its world, so it cannot be copied",
                path.display()
            );
            let mode = entry.metadata().expect("there").permissions().mode();
            prepared.files.push(PreparedFile { path, mode, bytes });
        }
        prepared
    }

    /// Writes the files below the directory of a world without files.
    fn write(&self, base: &Path) {
        for directory in &self.directories {
            fs::create_dir_all(base.join(directory)).expect("made");
        }
        for PreparedFile { path, mode, bytes } in &self.files {
            let path = base.join(path);
            fs::write(&path, bytes).expect("written");
            if *mode & 0o777 != 0o644 {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("permitted");
            }
        }
    }

    /// A new world like this one.
    fn world(&self) -> World {
        let world = World::without_git();
        self.write(world.base());
        // Git knows files by their inodes, which are new.
        world.git(&["update-index", "-q", "--refresh"]);
        world.set_seconds(self.seconds);
        world
    }
}

/// A new world like the one with this name, which `make` makes where there is none yet.
pub fn prepared(name: &str, make: &dyn Fn() -> World) -> World {
    type Kept = Mutex<BTreeMap<String, Arc<OnceLock<Prepared>>>>;
    static KEPT: Kept = Mutex::new(BTreeMap::new());
    let kept = {
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(name.to_owned()).or_default())
    };
    kept.get_or_init(|| Prepared::of(&make())).world()
}
