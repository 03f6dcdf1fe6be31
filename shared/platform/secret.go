package platform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"bailing/shared/clock"
)

const (
	// secretTries and secretTimeout bound the call: Lambda gives a function 10 s to start.
	secretTries   = 3
	secretTimeout = 5 * time.Second
	secretPause   = 200 * time.Millisecond // before the second try; doubles
	secretMax     = 128 << 10              // bytes of an answer; a secret has at most 64 KiB
)

// errSecretTransient marks a failure that another try may not have.
var errSecretTransient = errors.New("try again")

// loadServerToken takes the administrator's token from AWS Secrets Manager, if the configuration names a secret. The token of
// an environment variable is readable for everybody who may look at the function; this one is not.
func (p *Platform) loadServerToken(ctx context.Context) error {
	secret := p.Config.ServerTokenSecret
	if secret == "" {
		return nil
	}
	token, err := p.loadSecret(ctx, secret)
	if err != nil {
		return fmt.Errorf("platform: BAILING_SERVER_TOKEN_SECRET: %w", err)
	}
	if token = strings.TrimSpace(token); len(token) < minServerToken {
		return fmt.Errorf("platform: BAILING_SERVER_TOKEN_SECRET: the secret is shorter than %d characters", minServerToken)
	}
	p.Config.ServerToken = token
	return nil
}

// loadSecret asks for the text of a secret, a few times.
//
// It is one signed request by hand: the SDK's client would be the only use of its module, and of a megabyte of code.
func (p *Platform) loadSecret(ctx context.Context, secret string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	text, err := p.secretValue(ctx, secret)
	for try := 1; errors.Is(err, errSecretTransient) && try < secretTries; try++ {
		if clock.Sleep(ctx, p.Clock, secretPause<<(try-1)) != nil {
			break
		}
		text, err = p.secretValue(ctx, secret)
	}
	return text, err
}

// secretValue asks once.
func (p *Platform) secretValue(ctx context.Context, secret string) (string, error) {
	req, err := p.secretRequest(ctx, secret)
	if err != nil {
		return "", err
	}
	res, err := p.AWS().HTTPClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errSecretTransient, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, secretMax))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errSecretTransient, err)
	}
	var answer struct {
		SecretString string `json:"SecretString"`
		Type         string `json:"__type"`
	}
	// The cause of a failed decoding quotes what it read, so it stays out of the error.
	decoded := json.Unmarshal(body, &answer) == nil
	switch {
	case res.StatusCode >= 500, res.StatusCode == http.StatusTooManyRequests, strings.Contains(answer.Type, "Throttling"):
		return "", fmt.Errorf("%w: secretsmanager answered %d", errSecretTransient, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("secretsmanager answered %d %s", res.StatusCode, answer.Type)
	case !decoded || answer.SecretString == "":
		return "", errors.New("the secret holds no text")
	}
	return answer.SecretString, nil
}

func (p *Platform) secretRequest(ctx context.Context, secret string) (*http.Request, error) {
	payload, err := json.Marshal(map[string]string{"SecretId": secret})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.secretsEndpoint(secret), bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "secretsmanager.GetSecretValue")
	keys, err := p.AWS().Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(payload)
	err = v4.NewSigner().SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), "secretsmanager", p.Config.Region, p.Clock.Now())
	return req, err
}

// secretsEndpoint is the regional endpoint; its domain follows the partition that the secret's ARN names.
func (p *Platform) secretsEndpoint(secret string) string {
	if p.Config.Endpoint != "" {
		return strings.TrimSuffix(p.Config.Endpoint, "/") + "/"
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(secret, "arn:aws-cn:") {
		domain = "amazonaws.com.cn"
	}
	return "https://secretsmanager." + p.Config.Region + "." + domain + "/"
}
