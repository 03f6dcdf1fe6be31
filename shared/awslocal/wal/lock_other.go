//go:build !unix

package wal

import (
	"errors"
	"fmt"
	"io"
)

// lockFile refuses: without a lock that ends with the process, two processes could share a directory.
func lockFile(name string) (io.Closer, error) {
	return nil, fmt.Errorf("lock %s: %w", name, errors.ErrUnsupported)
}
