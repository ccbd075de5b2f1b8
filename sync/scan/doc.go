// Package scan reads a working tree: it proves by stat what did not change, reads and
// hashes what did, and names everything it leaves out with the reason.
//
// A Scan compares the disk with an Index, which is what the scan before it saw, and returns
// the next Index with the differences, so that its cost beyond the stat calls is that of
// the changes. A directory whose times and inode are unchanged has the same names and is
// not listed; each of its files is still asked for its stat, through the directory's
// handle. Nothing is opened by an absolute path, no symbolic link is followed, and only
// regular files are opened for reading.
//
// # What is trusted
//
// A file whose size, times, inode, device and mode equal those of the index is not read,
// unless it is racy: changed so shortly before its scan began that a later write could
// carry the same time (the racy entries of git's index). Racy files are read again by the
// next scan. The kernel stamps files with the time of its last tick, which lies up to 10 ms
// before the clock's; the default granularity covers that. Entries whose times are whole
// seconds are judged with a granularity of two seconds, as on FAT.
//
// What no stat shows is not seen: stores through a shared memory map before they are
// written back, and clients' caches of network file systems.
//
// # What is left out
//
// Ignored paths (package ignore), symbolic links, special files, nested repositories
// (a directory below the root that holds a .git), secrets by name, files over the limit,
// binary and minified files, and what cannot be read or does not stand still. The
// directory .git is not part of a tree and not even counted. Ignore files above the root
// and git's index play no part: a tracked file that a pattern ignores is left out.
package scan
