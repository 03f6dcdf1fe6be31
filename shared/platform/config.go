package platform

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"bailing/shared/topology"
)

// Config is everything that differs between two deployments. Each member names its environment variable.
type Config struct {
	Region       string // AWS_REGION
	Endpoint     string // AWS_ENDPOINT_URL; "" = AWS itself
	AccessKey    string // AWS_ACCESS_KEY_ID
	SecretKey    string // AWS_SECRET_ACCESS_KEY
	SessionToken string // AWS_SESSION_TOKEN

	TablePrefix       string // BAILING_TABLE_PREFIX, put before every table name
	Bucket            string // BAILING_BUCKET
	JobsQueueURL      string // BAILING_JOBS_QUEUE_URL
	CallbacksQueueURL string // BAILING_CALLBACKS_QUEUE_URL
	ApprovalsMachine  string // BAILING_APPROVALS_MACHINE: ARN of the state machine in which approvals wait
	KMSKey            string // BAILING_KMS_KEY: id or ARN of the key that wraps data keys
	KeyFile           string // BAILING_KEY_FILE: a local key instead of KMS

	ServerToken       string // BAILING_SERVER_TOKEN: the administrator's token
	ServerTokenSecret string // BAILING_SERVER_TOKEN_SECRET: ARN of the secret that Load takes it from instead

	BootstrapUsername       string // BAILING_BOOTSTRAP_ADMIN_USERNAME: the first administrator, in lower case
	BootstrapPassword       string // BAILING_BOOTSTRAP_ADMIN_PASSWORD
	BootstrapPasswordSecret string // BAILING_BOOTSTRAP_ADMIN_PASSWORD_SECRET: ARN of the secret that holds it instead

	EgressAllow string // BAILING_EGRESS_ALLOW: extra destinations of outbound requests
	BodyMax     int64  // BAILING_JSON_BODY_MAX_BYTES, default 1 MiB

	PublicURL  string // BAILING_PUBLIC_URL: where the hub is reached, with its path prefix and without a final slash; "" = unknown
	AlertsType string // BAILING_ALERTS_TYPE: how the operator hears of what no route tells; "" = not at all
	AlertsURL  string // BAILING_ALERTS_URL, of a webhook type
	AlertsTo   string // BAILING_ALERTS_TO, of any other type

	AuditRetention time.Duration // BAILING_AUDIT_RETENTION_DAYS: how long audit records are kept; 0 = for ever

	Commit    string // BAILING_COMMIT
	BuildTime string // BAILING_BUILD_TIME
}

const (
	// minServerToken is the contract's minimum for a reachable server (core §0.2).
	minServerToken = 24
	defaultBodyMax = 1 << 20
	// maxRetention is a hundred years: more is a slip of the pen.
	maxRetention = 36_500
)

// FromEnv reads the configuration; getenv is os.Getenv. It reports every bad variable by name, never its value.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Region: getenv("AWS_REGION"), Endpoint: getenv("AWS_ENDPOINT_URL"), AccessKey: getenv("AWS_ACCESS_KEY_ID"),
		SecretKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
		TablePrefix: getenv("BAILING_TABLE_PREFIX"), Bucket: getenv("BAILING_BUCKET"),
		JobsQueueURL: getenv("BAILING_JOBS_QUEUE_URL"), CallbacksQueueURL: getenv("BAILING_CALLBACKS_QUEUE_URL"),
		ApprovalsMachine: getenv("BAILING_APPROVALS_MACHINE"), KMSKey: getenv("BAILING_KMS_KEY"), KeyFile: getenv("BAILING_KEY_FILE"),
		ServerToken: getenv("BAILING_SERVER_TOKEN"), ServerTokenSecret: getenv("BAILING_SERVER_TOKEN_SECRET"), EgressAllow: getenv("BAILING_EGRESS_ALLOW"),
		Commit: getenv("BAILING_COMMIT"), BuildTime: getenv("BAILING_BUILD_TIME"),
		BodyMax: defaultBodyMax,
	}
	var errs []error
	if c.Region == "" {
		errs = append(errs, errors.New("AWS_REGION is not set"))
	}
	if n := len(c.ServerToken); n > 0 && n < minServerToken {
		errs = append(errs, fmt.Errorf("BAILING_SERVER_TOKEN is shorter than %d characters", minServerToken))
	}
	if c.ServerToken != "" && c.ServerTokenSecret != "" {
		errs = append(errs, errors.New("BAILING_SERVER_TOKEN and BAILING_SERVER_TOKEN_SECRET are both set"))
	}
	errs = append(errs, c.readBootstrap(getenv)...)
	errs = append(errs, c.readNotices(getenv)...)
	if text := getenv("BAILING_JSON_BODY_MAX_BYTES"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			errs = append(errs, errors.New("BAILING_JSON_BODY_MAX_BYTES is not a positive integer"))
		} else {
			c.BodyMax = n
		}
	}
	if text := getenv("BAILING_AUDIT_RETENTION_DAYS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxRetention {
			errs = append(errs, fmt.Errorf("BAILING_AUDIT_RETENTION_DAYS is not a whole number of days from 0, which keeps them, to %d", maxRetention))
		} else {
			c.AuditRetention = time.Duration(n) * 24 * time.Hour
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Config{}, fmt.Errorf("platform: %w", err)
	}
	return c, nil
}

// Require reports every variable that a function needs for what the topology grants it, and that is not set.
func (c Config) Require(f topology.Function) error {
	var errs []error
	need := func(set bool, name string) {
		if !set {
			errs = append(errs, fmt.Errorf("%s is not set", name))
		}
	}
	for _, g := range f.Grants {
		switch g.Kind {
		case topology.OnBucket:
			need(c.Bucket != "", "BAILING_BUCKET")
		case topology.OnQueue:
			url, variable := c.queue(g.Name)
			need(url != "", variable)
		case topology.OnKey:
			need(c.KMSKey != "" || c.KeyFile != "", "BAILING_KMS_KEY")
		case topology.OnMachine:
			need(c.ApprovalsMachine != "", "BAILING_APPROVALS_MACHINE")
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("platform: function %s: %w", f.Name, err)
	}
	return nil
}

// queue is the address of a queue of the topology, and the variable that holds it.
func (c Config) queue(name string) (url, variable string) {
	if name == topology.QueueCallbacks {
		return c.CallbacksQueueURL, "BAILING_CALLBACKS_QUEUE_URL"
	}
	return c.JobsQueueURL, "BAILING_JOBS_QUEUE_URL"
}
