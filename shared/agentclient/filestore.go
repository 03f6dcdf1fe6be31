package agentclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bailing/shared/textlimit"
)

// maxFile bounds the file of credentials, in bytes.
const maxFile = 64 << 10

// fileVersion is the form of the file.
const fileVersion = 1

// lockPause is how long a process waits before it looks again whether the lock of another one is free.
const lockPause = 20 * time.Millisecond

// ErrExposed is a file, or a folder, that others on this machine may read or write.
var ErrExposed = errors.New("can be read or changed by others on this machine")

// ErrDamaged is a file that is not what a FileStore writes.
var ErrDamaged = errors.New("is not a file of credentials")

// FileStore keeps credentials in a file that only its owner can read, in clear text: whoever can read the owner's files can act
// in the session until it is revoked.
//
// It is written as a whole or not at all, and is on disk before Save returns. Beside it lies the file of the lock, whose name ends
// with .lock and which stays: a lock on a file that is deleted is a lock on nothing. The lock needs flock, which Windows does not have
// and some network file systems do not keep.
type FileStore struct {
	name string
	gate gate
}

var _ Store = (*FileStore)(nil)

// NewFileStore returns the store in a file; neither the file nor its folder need to be there.
func NewFileStore(name string) *FileStore { return &FileStore{name: name} }

// Name is the name of the file.
func (s *FileStore) Name() string { return s.name }

// Lock waits for other goroutines first, and then for other processes.
func (s *FileStore) Lock(ctx context.Context) (unlock func() error, err error) {
	leave, err := s.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.lock(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return func() error {
		defer leave()
		return held.Close()
	}, nil
}

func (s *FileStore) lock(ctx context.Context) (io.Closer, error) {
	if err := s.folder(); err != nil {
		return nil, err
	}
	for {
		held, err := tryLock(s.name + ".lock")
		if !errors.Is(err, errLocked) {
			return held, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// folder makes the folder of the file, and refuses one in which others could replace it.
func (s *FileStore) folder() error {
	dir := filepath.Dir(s.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if exposed(info, 0o022) {
		return fmt.Errorf("the folder %s %w", dir, ErrExposed)
	}
	return nil
}

// file is what is written.
type file struct {
	Version int `json:"version"`
	Credentials
}

// Load reads the file. One that others may read is refused: they could have the tokens.
func (s *FileStore) Load(context.Context) (*Credentials, error) {
	f, err := os.Open(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotLoggedIn
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if exposed(info, 0o077) {
		return nil, fmt.Errorf("%s %w", s.name, ErrExposed)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	c, err := readFile(b)
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", s.name, ErrDamaged, err)
	}
	return c, nil
}

// readFile judges the content of a file; its errors quote nothing of it.
func readFile(b []byte) (*Credentials, error) {
	var c file
	if len(b) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if json.Unmarshal(b, &c) != nil {
		return nil, errors.New("it is not JSON of the right form")
	}
	if c.Version != fileVersion {
		return nil, fmt.Errorf("its version is %d, not %d", c.Version, fileVersion)
	}
	if _, err := CheckHubURL(c.Hub); err != nil {
		return nil, err
	}
	if !textlimit.ResourceName(c.ClientAppID) || !textlimit.UUID(c.SessionID) ||
		!credential(c.AccessToken, accessPrefix) || !credential(c.RefreshToken, refreshPrefix) || c.RefreshExpiresAt.IsZero() {
		return nil, errors.New("the client, the session or a token is missing")
	}
	return &c.Credentials, nil
}

// Save writes the file: another one first, which takes the name once it is on disk. The lock makes that one ours: what lies there is
// left by a process that died.
func (s *FileStore) Save(_ context.Context, c *Credentials) (err error) {
	b, err := json.MarshalIndent(file{fileVersion, *c}, "", "  ")
	if err != nil {
		return err
	}
	if err := s.folder(); err != nil {
		return err
	}
	if err := remove(s.next()); err != nil {
		return err
	}
	f, err := os.OpenFile(s.next(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(s.next()))
		}
	}()
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(s.next(), s.name); err != nil {
		return err
	}
	syncFolder(filepath.Dir(s.name))
	return nil
}

// next is the file that is written before it takes the name.
func (s *FileStore) next() string { return s.name + ".new" }

// Delete removes the file, and what a process that died may have left of another one.
func (s *FileStore) Delete(context.Context) error {
	err := errors.Join(remove(s.name), remove(s.next()))
	syncFolder(filepath.Dir(s.name))
	return err
}

func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a change of names last, where the file system can: the file itself is on disk already.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
