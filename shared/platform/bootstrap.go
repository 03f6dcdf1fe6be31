package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bailing/shared/account"
)

// readBootstrap reads the bootstrap administrator: a name and a password, or neither (core §10.1).
func (c *Config) readBootstrap(getenv func(string) string) (errs []error) {
	const name, password = "BAILING_BOOTSTRAP_ADMIN_USERNAME", "BAILING_BOOTSTRAP_ADMIN_PASSWORD"
	username := getenv(name)
	c.BootstrapPassword, c.BootstrapPasswordSecret = getenv(password), getenv(password+"_SECRET")
	if given := c.BootstrapPassword != "" || c.BootstrapPasswordSecret != ""; given != (username != "") {
		errs = append(errs, fmt.Errorf("%s and %s (or %s_SECRET) go together", name, password, password))
	}
	if c.BootstrapPassword != "" && c.BootstrapPasswordSecret != "" {
		errs = append(errs, fmt.Errorf("%s and %s_SECRET are both set", password, password))
	}
	if username != "" {
		if rule := account.CheckBootstrap(username); rule != "" {
			errs = append(errs, errors.New(name+" "+rule))
		}
		c.BootstrapUsername, _ = account.Normalize(username)
	}
	if c.BootstrapPassword != "" {
		if rule := account.CheckPassword(c.BootstrapPassword); rule != "" {
			errs = append(errs, errors.New(password+" "+rule))
		}
	}
	return errs
}

// BootstrapAdmin is the administrator whose first login creates the account; nil when none is configured. A password in AWS Secrets Manager
// is read when that login comes, and not before: it costs no start any time, and the secret may be deleted afterwards.
func (p *Platform) BootstrapAdmin() *account.Bootstrap {
	if p.Config.BootstrapUsername == "" {
		return nil
	}
	return &account.Bootstrap{Username: p.Config.BootstrapUsername, Password: func(ctx context.Context) (string, error) {
		if p.Config.BootstrapPasswordSecret == "" {
			return p.Config.BootstrapPassword, nil
		}
		password, err := p.loadSecret(ctx, p.Config.BootstrapPasswordSecret)
		if err != nil {
			return "", fmt.Errorf("platform: BAILING_BOOTSTRAP_ADMIN_PASSWORD_SECRET: %w", err)
		}
		return strings.TrimSpace(password), nil
	}}
}
