package localdir

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// The file STORE is the identity of a store and its epoch. It is text, because the one who needs it may have nothing
// but a shell. Lines end with one newline and stand in this order:
//
//	cloudqueue store 1                        magic and version
//	site ams                                  whose store it is: 1 to 63 of [a-z0-9-], for ever
//	federation acme                           of which federation: as site
//	id 7f1c…                                  store id: 32 hexadecimal digits, lower case, not all zero
//	born 1764534000123                        wall clock of `spool init`, ms since 1970, 1..2^63-1
//	epoch 1764534000456                       fencing number of the latest opening, 0..2^64-1; 0: never opened
//	former 09ab…                              (0 to 64 times) an id that the store had before `spool new-id`, oldest first
//	crc32c 89abcdef                           CRC-32C of all bytes before this line, 8 hexadecimal digits
//
// A reader refuses a file that differs from this in any byte: the store is not opened, and nothing is written. It is
// replaced whole, by a rename of STORE.tmp, so that a crash leaves the old or the new one (design section 5). A later
// version has another first line. How it is written again from the segments' headers stands in docs/formats-spool.md.
const (
	storeName     = "STORE"
	temporaryName = "STORE.tmp"
	firstLine     = "cloudqueue store 1"
	maxFormer     = 64   // chosen: a store that was cloned more often than this should begin anew
	maxStoreFile  = 4096 // 64 former ids and the rest are 2,900 bytes
)

// ErrIdentity tells that the file STORE of a store is missing, cut or changed; what the segments hold may be whole. The
// error wraps federation.ErrCorrupt too.
var ErrIdentity = errors.New("who the store is cannot be read")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode gives the bytes of STORE.
func encode(id spool.Identity) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nsite %s\nfederation %s\nid %s\nborn %d\nepoch %d\n", firstLine, id.Home.Site,
		id.Home.Federation, id.Store, id.Born.UnixMilli(), id.Epoch)
	for _, former := range id.Former {
		fmt.Fprintf(&b, "former %s\n", former)
	}
	fmt.Fprintf(&b, "crc32c %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// parseIdentity reads what encode gives, and nothing else. Its errors wrap federation.ErrVersion or
// federation.ErrCorrupt.
func parseIdentity(b []byte) (spool.Identity, error) {
	head, _, _ := strings.Cut(string(b), "\n")
	if head != firstLine && strings.HasPrefix(head, "cloudqueue store ") {
		return spool.Identity{}, fmt.Errorf("first line %q: %w", head, federation.ErrVersion)
	}
	id, err := parseLines(strings.Split(string(b), "\n"))
	if err == nil && !bytes.Equal(b, encode(id)) {
		err = errors.New("checksum or form is wrong")
	}
	if err != nil {
		return spool.Identity{}, fmt.Errorf("%w: %w", federation.ErrCorrupt, err)
	}
	return id, nil
}

// parseLines takes the fields; that nothing else stands there is seen by encoding them again.
func parseLines(lines []string) (spool.Identity, error) {
	var id spool.Identity
	if len(lines) < 8 || len(lines) > 8+maxFormer {
		return id, fmt.Errorf("%d lines", len(lines))
	}
	home, homeErr := parseHome(strings.TrimPrefix(lines[1], "site "), strings.TrimPrefix(lines[2], "federation "))
	store, storeErr := parseStoreID(strings.TrimPrefix(lines[3], "id "))
	born, bornErr := strconv.ParseInt(strings.TrimPrefix(lines[4], "born "), 10, 64)
	epoch, epochErr := strconv.ParseUint(strings.TrimPrefix(lines[5], "epoch "), 10, 64)
	if err := cmp.Or(homeErr, storeErr, bornErr, epochErr); err != nil {
		return id, err
	}
	if store.IsZero() || born <= 0 {
		return id, errors.New("id or born is zero")
	}
	id = spool.Identity{Home: home, Store: store, Born: time.UnixMilli(born), Epoch: federation.Epoch(epoch)}
	for _, line := range lines[6 : len(lines)-2] {
		former, err := parseStoreID(strings.TrimPrefix(line, "former "))
		if err != nil {
			return id, err
		}
		id.Former = append(id.Former, former)
	}
	return id, nil
}

func parseHome(site, name string) (spool.Home, error) {
	home := spool.Home{Site: federation.SiteID(site), Federation: name}
	if !home.Valid() {
		return spool.Home{}, errors.New("site or federation is no name") // and is not repeated: it may be anything
	}
	return home, nil
}

func parseStoreID(s string) (federation.StoreID, error) {
	var id federation.StoreID
	if len(s) != hex.EncodedLen(len(id)) {
		return id, fmt.Errorf("store id %q: want %d hexadecimal digits", s, hex.EncodedLen(len(id)))
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err
}

// readIdentity gives fs.ErrNotExist when there is no STORE.
func readIdentity(files Files) (spool.Identity, error) {
	source, err := files.Open(storeName)
	if err != nil {
		return spool.Identity{}, err
	}
	b, err := io.ReadAll(io.NewSectionReader(source, 0, maxStoreFile+1))
	if err := errors.Join(err, source.Close()); err != nil {
		return spool.Identity{}, fmt.Errorf("read %s/%s: %w", files.Path(), storeName, err)
	}
	id, err := parseIdentity(b)
	if errors.Is(err, federation.ErrVersion) {
		return spool.Identity{}, fmt.Errorf("%s/%s: %w", files.Path(), storeName, err)
	}
	if err != nil {
		return spool.Identity{}, fmt.Errorf("%s/%s: %w: %w; nothing was touched", files.Path(), storeName, ErrIdentity,
			err)
	}
	return id, nil
}

// writeIdentity makes id durable, or leaves the old one or the new one. It needs the lock.
func writeIdentity(files Files, id spool.Identity) error {
	err := replaceIdentity(files, encode(id))
	if err != nil {
		return fmt.Errorf("write %s/%s: %w", files.Path(), storeName, err)
	}
	return nil
}

func replaceIdentity(files Files, b []byte) error {
	if err := files.Remove(temporaryName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // a crash may have left one; its bytes are not trusted
	}
	if err := writeFile(files, temporaryName, b); err != nil {
		return err
	}
	if err := files.Rename(temporaryName, storeName); err != nil {
		return err
	}
	return files.Sync()
}

func writeFile(files Files, name string, b []byte) error {
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
