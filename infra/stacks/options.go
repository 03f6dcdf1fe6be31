package stacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"bailing/shared/account"
	"bailing/shared/outbound"
	"bailing/shared/topology"
)

// Namespace stands before the name of every option in the CDK's context, as in `cdk deploy -c bailing:logRetentionDays=90`.
const Namespace = "bailing:"

// Options are what deployments may choose; docs/deploy.md explains each. Start from [DefaultOptions].
type Options struct {
	TablePrefix         string         // before the names of tables, queues, functions and stacks; ends with a hyphen
	LogRetentionDays    int            // of all log groups; one of CloudWatch's periods
	EgressAllow         string         // BAILING_EGRESS_ALLOW of the functions; "" = public addresses only
	AuditRetentionDays  int            // BAILING_AUDIT_RETENTION_DAYS; 0 = audit records are kept
	JSONBodyMaxBytes    int            // BAILING_JSON_BODY_MAX_BYTES; 0 = the functions' default
	ReservedConcurrency map[string]int // by function; none by default, small accounts refuse it (D33)
	ThrottleRate        float64        // requests per second of the stage; 0 = the account's
	ThrottleBurst       int            // requests at once; 0 = the account's
	WAFRateLimit        int            // requests of one address in five minutes; 0 = no WAF (D33)
	DomainName          string         // "" = the default URL only
	CertificateARN      string         // of the domain, in the region of the stack
	AlarmTopicARN       string         // an SNS topic; "" = alarms only change colour
	AccountLogRole      bool           // make the account's role for API Gateway logs
	BootstrapAdmin      string         // BAILING_BOOTSTRAP_ADMIN_USERNAME: user name of the first administrator
	PublicURL           string         // BAILING_PUBLIC_URL; "" = that of DomainName, if there is one
	AlertsType          string         // BAILING_ALERTS_TYPE; "" = nobody hears what no route tells
	AlertsURL, AlertsTo string         // BAILING_ALERTS_URL or BAILING_ALERTS_TO of it
	Commit, BuildTime   string         // shown by /health and /version

	BuildDir string // where the bootstraps are; not from the context
}

// DefaultOptions is a deployment that nobody configured.
func DefaultOptions() Options {
	return Options{TablePrefix: "bailing-", LogRetentionDays: 30, AccountLogRole: true, BootstrapAdmin: "admin"}
}

// ErrOption is what every refusal of an option wraps.
var ErrOption = errors.New("invalid option")

// reader decodes one option into o. Values of `-c` are text, those of cdk.json have a type.
type reader func(o *Options, v any) error

var readers = map[string]reader{
	"tablePrefix":         text(func(o *Options) *string { return &o.TablePrefix }),
	"egressAllow":         text(func(o *Options) *string { return &o.EgressAllow }),
	"domainName":          text(func(o *Options) *string { return &o.DomainName }),
	"certificateArn":      text(func(o *Options) *string { return &o.CertificateARN }),
	"alarmTopicArn":       text(func(o *Options) *string { return &o.AlarmTopicARN }),
	"bootstrapAdmin":      text(func(o *Options) *string { return &o.BootstrapAdmin }),
	"publicUrl":           text(func(o *Options) *string { return &o.PublicURL }),
	"alertsType":          text(func(o *Options) *string { return &o.AlertsType }),
	"alertsUrl":           text(func(o *Options) *string { return &o.AlertsURL }),
	"alertsTo":            text(func(o *Options) *string { return &o.AlertsTo }),
	"commit":              text(func(o *Options) *string { return &o.Commit }),
	"buildTime":           text(func(o *Options) *string { return &o.BuildTime }),
	"logRetentionDays":    whole(func(o *Options) *int { return &o.LogRetentionDays }),
	"auditRetentionDays":  whole(func(o *Options) *int { return &o.AuditRetentionDays }),
	"jsonBodyMaxBytes":    whole(func(o *Options) *int { return &o.JSONBodyMaxBytes }),
	"throttleBurst":       whole(func(o *Options) *int { return &o.ThrottleBurst }),
	"wafRateLimit":        whole(func(o *Options) *int { return &o.WAFRateLimit }),
	"throttleRate":        readThrottleRate,
	"reservedConcurrency": readReservedConcurrency,
	"accountLogRole":      readAccountLogRole,
}

// OptionsOf reads the options from the context of app.
func OptionsOf(app awscdk.App) (Options, error) {
	context, _ := app.Node().GetAllContext(nil).(map[string]any)
	return OptionsFrom(context)
}

// OptionsFrom reads the options from a context. An unknown name in our namespace is an error: a slip of the pen must not
// leave a default in force. Every bad option is reported.
func OptionsFrom(context map[string]any) (Options, error) {
	o := DefaultOptions()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(context)) {
		name, ours := strings.CutPrefix(key, Namespace)
		if !ours {
			continue
		}
		read, known := readers[name]
		if !known {
			errs = append(errs, fmt.Errorf("%w: there is no %s", ErrOption, key))
		} else if err := read(&o, context[key]); err != nil {
			errs = append(errs, fmt.Errorf("%w: %s: %w", ErrOption, key, err))
		}
	}
	return o, errors.Join(errs...)
}

func text(of func(*Options) *string) reader {
	return func(o *Options, v any) error {
		s, ok := v.(string)
		if !ok {
			return errors.New("is no text")
		}
		*of(o) = s
		return nil
	}
}

func whole(of func(*Options) *int) reader {
	return func(o *Options, v any) error {
		n, err := number(v)
		if err != nil || n < 1 || n != math.Trunc(n) || n > math.MaxInt32 {
			return errors.New("is no positive whole number")
		}
		*of(o) = int(n)
		return nil
	}
}

func readThrottleRate(o *Options, v any) error {
	n, err := number(v)
	if err != nil || n <= 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return errors.New("is no positive number")
	}
	o.ThrottleRate = n
	return nil
}

func readAccountLogRole(o *Options, v any) error {
	switch v {
	case true, "true":
		o.AccountLogRole = true
	case false, "false":
		o.AccountLogRole = false
	default:
		return errors.New("is neither true nor false")
	}
	return nil
}

func readReservedConcurrency(o *Options, v any) error {
	if s, ok := v.(string); ok {
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return errors.New("is no JSON object")
		}
	}
	members, ok := v.(map[string]any)
	if !ok {
		return errors.New("is no JSON object")
	}
	o.ReservedConcurrency = map[string]int{}
	for name, v := range members {
		n, err := number(v)
		if err != nil || n < 1 || n != math.Trunc(n) || n > math.MaxInt32 {
			return fmt.Errorf("%s is no positive whole number", name)
		}
		o.ReservedConcurrency[name] = int(n)
	}
	return nil
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case string:
		return strconv.ParseFloat(v, 64)
	}
	return 0, errors.New("is no number")
}

// retentions are the periods that CloudWatch Logs knows, in days.
var retentions = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

const (
	// wafRateMin is AWS WAF's smallest rate.
	wafRateMin = 10
	// bodyMax is what still fits into an event of 6 MiB as base64, beside the headers.
	bodyMax = 4 << 20
	// auditRetentionMax is what the functions accept: a hundred years.
	auditRetentionMax = 36_500
)

var (
	// prefixes keep the longest names within the 64 characters of a function's.
	prefixes = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}-$`)
	websites = regexp.MustCompile(`^https?://[^\s/?#@]+[^\s?#]*$`)
	domains  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`)
	arns     = regexp.MustCompile(`^arn:[a-z-]+:(acm|sns):[a-z0-9-]+:[0-9]{12}:\S+$`)
)

// publicURL is where the hub is reached, as far as the options say.
func (o Options) publicURL() string {
	if o.PublicURL == "" && o.DomainName != "" {
		return "https://" + o.DomainName
	}
	return o.PublicURL
}

// Validate reports everything that is wrong with the options for t; each error wraps [ErrOption].
func (o Options) Validate(t topology.Topology) error {
	var errs []error
	check := func(ok bool, name, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s%s %s", ErrOption, Namespace, name, rule))
		}
	}
	check(prefixes.MatchString(o.TablePrefix), "tablePrefix", "is 2 to 32 small letters, digits and hyphens, from a letter to a hyphen")
	check(slices.Contains(retentions, o.LogRetentionDays), "logRetentionDays", fmt.Sprintf("is one of %v", retentions))
	check(o.AuditRetentionDays <= auditRetentionMax, "auditRetentionDays", fmt.Sprintf("is at most %d", auditRetentionMax))
	check(o.JSONBodyMaxBytes <= bodyMax, "jsonBodyMaxBytes", fmt.Sprintf("is at most %d: more does not reach a function", bodyMax))
	check((o.ThrottleRate > 0) == (o.ThrottleBurst > 0), "throttleRate", "and throttleBurst go together")
	check(o.WAFRateLimit == 0 || o.WAFRateLimit >= wafRateMin, "wafRateLimit", fmt.Sprintf("is at least %d", wafRateMin))
	check((o.DomainName == "") == (o.CertificateARN == ""), "domainName", "and certificateArn go together")
	check(o.DomainName == "" || domains.MatchString(o.DomainName), "domainName", "is no domain name")
	check(o.CertificateARN == "" || arns.MatchString(o.CertificateARN), "certificateArn", "is no ARN of a certificate")
	check(o.AlarmTopicARN == "" || arns.MatchString(o.AlarmTopicARN), "alarmTopicArn", "is no ARN of a topic")
	check(o.PublicURL == "" || websites.MatchString(o.PublicURL), "publicUrl", "is no http or https address without a query")
	check((o.AlertsType == "") == (o.AlertsURL == "" && o.AlertsTo == ""), "alertsType", "goes together with alertsUrl, or with alertsTo")
	rule := account.CheckBootstrap(o.BootstrapAdmin)
	check(rule == "", "bootstrapAdmin", rule)
	check(o.BuildDir != "", "buildDir", "is not set")
	for _, name := range slices.Sorted(maps.Keys(o.ReservedConcurrency)) {
		_, known := t.FunctionNamed(name)
		check(known, "reservedConcurrency", "names "+name+", which is no function")
	}
	if _, err := outbound.ParsePolicy(o.EgressAllow); err != nil {
		errs = append(errs, fmt.Errorf("%w: %segressAllow: %w", ErrOption, Namespace, err))
	}
	return errors.Join(errs...)
}
