// Package durable writes small files so that a crash leaves the old content or the new, whole.
//
//	write beside ─▶ fsync the file ─▶ rename over the name ─▶ fsync the folder
//
// A reader at any moment, and whoever starts after a crash, finds under the name one content or the other. When a function
// has returned nil the new one is durable. After an error it may be there or not, and a second call does no harm. What a
// crash leaves beside the file has its name, a dot and digits; nobody reads it.
//
// The store's own files are not written with it: router/spool/localdir has a seam where its tests crash every step.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file in place of another one, or of none. Its folder must exist. Several may write one file at once: the
// last one wins, whole.
func Replace(path string, content []byte, mode fs.FileMode) error {
	beside, err := writeBeside(path, content, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return syncFolder(filepath.Dir(path))
}

// Create writes a file that must not exist. The error wraps fs.ErrExist when there is one, which stays as it is.
func Create(path string, content []byte, mode fs.FileMode) error {
	beside, err := writeBeside(path, content, mode)
	if err != nil {
		return err
	}
	err = os.Link(beside, path) // unlike a rename it replaces nothing
	if err := errors.Join(err, os.Remove(beside)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// writeBeside writes a durable file in the same folder and gives its name. After an error it is gone.
func writeBeside(path string, content []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
