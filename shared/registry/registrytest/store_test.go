package registrytest_test

import (
	"testing"

	"bailing/shared/registry/registrytest"
)

func TestTheStoreInMemoryConforms(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registrytest.TokenStore { return registrytest.NewStore() })
}
