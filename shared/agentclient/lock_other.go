//go:build !unix

package agentclient

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// errLocked is a lock that somebody else has.
var errLocked = errors.New("locked")

// tryLock refuses: without a lock that ends with the process, two processes could send the same refresh token.
func tryLock(name string) (io.Closer, error) {
	return nil, fmt.Errorf("lock %s: %w", name, errors.ErrUnsupported)
}

// exposed cannot tell: permissions are no bits of a mode here.
func exposed(fs.FileInfo, fs.FileMode) bool { return false }
