//! Knows the file systems whose changes the system tells only in part: others write to them without asking it.

use std::path::Path;

/// The kind of file system that the folder is on, where not all changes in it are told.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn silent_file_system(folder: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(folder).ok()?;
    // The type of the field differs between systems, and some fill it up with ones.
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "the number has 32 bits")]
    name(found.f_type as u32)
}

/// Other systems take care of it themselves, or nothing is known of it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn silent_file_system(_: &Path) -> Option<&'static str> {
    None
}

/// By the numbers of `statfs(2)`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => "SMB",
        0x0102_1997 => "9p",
        // Also virtiofs, and most of what desktops mount.
        0x6573_5546 => "FUSE",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x00c3_6400 => "Ceph",
        0x7375_7245 => "Coda",
        0x0bd0_0bd0 => "Lustre",
        0x786f_4256 => "a folder shared by VirtualBox",
        0xbacb_acbc => "a folder shared by VMware",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_other_machines_do_not_tell_everything() {
        // NFS_SUPER_MAGIC, SMB2_MAGIC_NUMBER, V9FS_MAGIC, FUSE_SUPER_MAGIC; EXT4, BTRFS, TMPFS, OVERLAYFS.
        let silent = [0x6969, 0xfe53_4d42, 0x0102_1997, 0x6573_5546].map(|magic| name(magic).is_some());
        let telling = [0xef53, 0x9123_683e, 0x0102_1994, 0x794c_7630].map(|magic| name(magic).is_some());
        assert_eq!((silent, telling), ([true; 4], [false; 4]));
        assert_eq!(silent_file_system(Path::new("/proc")), None);
        assert_eq!(silent_file_system(Path::new("/nowhere")), None);
    }
}
