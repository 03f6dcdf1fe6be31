package agentclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bailing/shared/agentclient"
)

// A program asks for a token before each request, and once more when the hub refuses it.
func ExampleClient() {
	c := &agentclient.Client{Store: agentclient.NewFileStore("/home/ada/.config/bailing/agent/default.json")}
	call := func(ctx context.Context) (*http.Response, error) {
		token, err := c.AccessToken(ctx)
		for attempt := 0; err == nil; attempt++ {
			var req *http.Request
			var res *http.Response
			if req, err = http.NewRequestWithContext(ctx, http.MethodGet, "https://hub.example/agent-api/v1/workspaces", nil); err != nil {
				break
			}
			req.Header.Set("Authorization", "Bearer "+token)
			if res, err = http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusUnauthorized || attempt == 1 {
				return res, err
			}
			res.Body.Close()
			token, err = c.Renew(ctx, token)
		}
		return nil, err
	}
	_, err := call(context.Background())
	if errors.Is(err, agentclient.ErrNotLoggedIn) || errors.Is(err, agentclient.ErrSessionEnded) || errors.Is(err, agentclient.ErrSessionLost) {
		fmt.Println("log in again")
	}
}
