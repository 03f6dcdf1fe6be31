package envelope

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrKeyFile: the key file is not one: wrong size, not a regular file, or readable by others.
var ErrKeyFile = errors.New("key file must be a regular file of 32 bytes that only its owner may access")

// fileKey wraps data keys with a key that was read once.
type fileKey struct {
	aead cipher.AEAD
	rand io.Reader
}

// FileKey is a key source for machines without a key service. The wrapping key is the 32 bytes of the file at path, which is
// created with random bytes, mode 0600, if it is not there. Creation is atomic: of several processes that start
// together, all end up with the same key, and none sees half of it. Losing the file loses every secret sealed under it.
//
// A file that others may read, or that is no key, is [ErrKeyFile]; other failures are [ErrKeyUnavailable].
func FileKey(path string) (KeySource, error) {
	key, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createKeyFile(path); err == nil {
			key, err = readKeyFile(path)
		}
	}
	switch {
	case errors.Is(err, ErrKeyFile):
		return nil, fmt.Errorf("%w: %s", err, path)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKeyUnavailable, err)
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &fileKey{aead: aead, rand: rand.Reader}, nil
}

func readKeyFile(path string) ([]byte, error) {
	// What is checked must be what is read, hence the descriptor; and a pipe must not block, hence the look before.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrKeyFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() != keySize {
		return nil, ErrKeyFile
	}
	key := make([]byte, keySize)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil, err
	}
	return key, nil
}

// createKeyFile writes a new key beside path and links it there, which fails if somebody was faster: their key counts.
func createKeyFile(path string) error {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(key)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the new name survive a power failure: secrets may be sealed under the key at once.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Generate makes a data key and wraps it: nonce, ciphertext, tag.
func (k *fileKey) Generate(ctx context.Context, context map[string]string) (DataKey, error) {
	if err := ctx.Err(); err != nil {
		return DataKey{}, err
	}
	random := make([]byte, keySize+nonceLen)
	if _, err := io.ReadFull(k.rand, random); err != nil {
		return DataKey{}, fmt.Errorf("%w: %w", ErrKeyUnavailable, err)
	}
	plain, nonce := random[:keySize:keySize], random[keySize:]
	return DataKey{Plain: plain, Wrapped: k.aead.Seal(nonce, nonce, plain, additional(context))}, nil
}

// Open unwraps a data key.
func (k *fileKey) Open(ctx context.Context, wrapped []byte, context map[string]string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(wrapped) != nonceLen+keySize+k.aead.Overhead() {
		return nil, ErrTampered
	}
	plain, err := k.aead.Open(nil, wrapped[:nonceLen], wrapped[nonceLen:], additional(context))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}
