package localdir

import (
	"errors"
	"io"
)

// Files is what localdir needs of one directory of a file system. Two implementations exist: the operating system's
// (osfiles.go) and crashdisk, a disk in memory that can crash at every operation.
//
// Nothing is durable before a Sync: the bytes of a file before File.Sync, its name, a rename and a removal before
// Files.Sync. An error of Create, Rename, Remove or a Sync means "unknown": the operation may have happened. After a
// failed Sync the kernel may have dropped the bytes and may answer the next Sync with success, so nobody syncs such a
// file again.
//
// Methods may be called from several goroutines at once; one File has one user.
type Files interface {
	// Lock takes the directory for this process, or gives ErrLocked at once. The kernel frees it when the process ends.
	Lock() (unlock func() error, err error)
	// List gives what the directory holds, in no promised order.
	List() ([]FileInfo, error)
	// Stat gives one name's file; fs.ErrNotExist when there is none.
	Stat(name string) (FileInfo, error)
	// Create makes an empty file for writing; fs.ErrExist when the name is taken.
	Create(name string) (File, error)
	// Open opens a file for reading; fs.ErrNotExist when there is none.
	Open(name string) (Source, error)
	// Rename replaces `to` by `from` in one step: after a crash the name `to` holds the one or the other, whole.
	Rename(from, to string) error
	// Remove takes a name away; fs.ErrNotExist when there is none.
	Remove(name string) error
	// Sync makes the directory's names durable, as they are.
	Sync() error
	// Space tells the bytes that this process may still write, and the size of the file system.
	Space() (free, total uint64, err error)
	// Path names the directory for people.
	Path() string
}

// FileInfo is one name of the directory.
type FileInfo struct {
	Name    string
	Size    int64
	Regular bool   // false: a directory, a link, a device
	ID      FileID // tells whether two names, or one name at two times, are the same file
}

// FileID is the identity of a file on this machine.
type FileID struct{ Device, Inode uint64 }

// File is written from its beginning to its end, once.
type File interface {
	io.WriteCloser
	// Allocate makes a file that was not written take n bytes of the disk: a file of that size, with any content. An
	// error leaves any part of them.
	Allocate(n int64) error
	// Sync makes the bytes written so far durable. After an error nothing is known of them, and never will be.
	Sync() error
}

// Source is a file that is read.
type Source interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// ErrLocked is Lock's answer while another process holds the directory.
var ErrLocked = errors.New("locked by another process")
