//go:build !linux

package wire

import (
	"errors"
	"fmt"

	"assay/store"
)

// NewLoop refuses: the loop waits by epoll.
func NewLoop([]Speaker, int) (store.Loop, error) {
	return nil, fmt.Errorf("asynchronous handles: %w", errors.ErrUnsupported)
}
