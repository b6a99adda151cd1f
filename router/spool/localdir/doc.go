// Package localdir keeps a spool's segments in one directory of a local disk.
//
//	/var/lib/cloudqueue/spool/
//	    STORE                        who this store is, and its epoch (identity.go)
//	    RESERVE                      space that is given back when the disk is full (reserve.go); the copy in a backup is of no use
//	    00000000000000000017.seg     a segment; its number is its name
//	    00000000000000000018.seg
//
// One process has the directory at a time: Claim takes an flock on the directory and raises the epoch before anything
// else is read or written. What Sync answered nil for survives a power cut, as far as the disk keeps its word; names
// are made durable by an fsync of the directory before Create, Remove or Claim answers.
//
// It never makes a store by itself: an empty directory may be a disk that was not mounted. Init does, when an admin
// says so.
//
// A directory that was moved away and replaced while the process runs (a backup put back, a copy made to look like it)
// is noticed before the next segment is created or removed: STORE is then another file. Two copies of one store on two
// machines cannot be noticed here; their peers do (design section 5). NewID makes a store of its own out of a copy.
//
// A full disk keeps nobody from starting: what Claim and NewID write and a segment or more fit into the space of
// RESERVE.
//
// It does not repair, cache, or interpret what is in a segment; that is the spool's part. A local disk is meant: flock
// and fsync of network file systems promise less.
//
// All operations go through Files, a small seam; package crashdisk implements it in memory and enumerates crashes.
// Start reading at dir.go.
package localdir
