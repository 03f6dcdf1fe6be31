package registrytest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"bailing/shared/envelope"
	"bailing/shared/registry"
)

// Sealer is a registry.Sealer for tests: what it seals opens only with the same context, and does not show.
type Sealer struct{}

var _ registry.Sealer = Sealer{}

// Seal implements registry.Sealer.
func (Sealer) Seal(_ context.Context, plaintext []byte, place envelope.Context) (string, error) {
	return hex.EncodeToString(plaintext) + "." + binding(place), nil
}

// Open implements registry.Sealer.
func (Sealer) Open(_ context.Context, sealed string, place envelope.Context) ([]byte, error) {
	text, bound, _ := strings.Cut(sealed, ".")
	if bound != binding(place) {
		return nil, errors.New("registrytest: sealed with another context")
	}
	return hex.DecodeString(text)
}

func binding(place envelope.Context) string {
	b, _ := json.Marshal(place)
	return hex.EncodeToString(b)
}
