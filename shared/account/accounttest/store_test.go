package accounttest_test

import (
	"testing"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
)

func TestTheStoreInMemoryConforms(t *testing.T) {
	t.Parallel()
	accounttest.Run(t, func(*testing.T) account.Store { return accounttest.NewStore() })
}
