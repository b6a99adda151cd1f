package localdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// osFiles is a directory of the operating system.
type osFiles struct{ path string }

func (d osFiles) Path() string { return d.path }

// Lock holds an flock on the directory itself: there is no lock file that somebody could delete, and what is locked is
// what is written to, not a name.
func (d osFiles) Lock() (func() error, error) {
	f, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	err = retryEINTR(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(ErrLocked, f.Close())
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "flock", Path: d.path, Err: err}, f.Close())
	}
	return f.Close, nil
}

func retryEINTR(do func() error) error {
	for {
		if err := do(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (d osFiles) List() ([]FileInfo, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	infos := make([]FileInfo, 0, len(entries))
	for _, entry := range entries {
		info, err := d.Stat(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed while we looked
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (d osFiles) Stat(name string) (FileInfo, error) {
	info, err := os.Lstat(filepath.Join(d.path, name))
	if err != nil {
		return FileInfo{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileInfo{}, fmt.Errorf("%s: this system tells no inode", filepath.Join(d.path, name))
	}
	id := FileID{Device: uint64(stat.Dev), Inode: uint64(stat.Ino)}
	return FileInfo{Name: name, Size: info.Size(), Regular: info.Mode().IsRegular(), ID: id}, nil
}

func (d osFiles) Create(name string) (File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

type osFile struct{ *os.File }

func (d osFiles) Open(name string) (Source, error) {
	f, err := os.Open(filepath.Join(d.path, name))
	if err != nil {
		return nil, err
	}
	return osSource{f}, nil
}

func (d osFiles) Rename(from, to string) error {
	return os.Rename(filepath.Join(d.path, from), filepath.Join(d.path, to))
}

func (d osFiles) Remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }

func (d osFiles) Sync() error { return syncDirectory(d.path) }

func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d osFiles) Space() (free, total uint64, err error) {
	var stat syscall.Statfs_t
	if err := retryEINTR(func() error { return syscall.Statfs(d.path, &stat) }); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: d.path, Err: err}
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), uint64(stat.Blocks) * uint64(stat.Bsize), nil
}

// osSource asks for the size each time: a reader may watch a segment that is being written.
type osSource struct{ *os.File }

func (s osSource) Size() (int64, error) {
	info, err := s.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
