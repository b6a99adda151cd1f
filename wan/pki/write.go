package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// place writes a file that must not exist: whole and durable, or not there. The error wraps fs.ErrExist when there is one.
func place(path string, b []byte, mode fs.FileMode) error {
	beside, err := writeBeside(path, b, mode)
	if err != nil {
		return err
	}
	err = os.Link(beside, path) // unlike a rename it replaces nothing
	if err := errors.Join(err, os.Remove(beside)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// replace writes a file in place of another one, so that a reader and a crash leave the one or the other.
func replace(path string, b []byte, mode fs.FileMode) error {
	beside, err := writeBeside(path, b, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return syncFolder(filepath.Dir(path))
}

// writeBeside writes a durable file in the same folder and gives its name. After an error it is gone.
func writeBeside(path string, b []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
