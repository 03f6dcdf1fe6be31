package admin

import (
	"crypto/rand"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/account"
	"bailing/shared/agentsession"
	"bailing/shared/auditexport"
	"bailing/shared/capability/compile"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/outbound"
	"bailing/shared/platform"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	s := p.Store()
	deliveries, err := p.Delivery(s)
	if err != nil {
		return nil, err
	}
	providers, err := p.Providers(s, compile.Compile, compile.Version)
	if err != nil {
		return nil, err
	}
	h := NewHandler(Deps{
		Registry: registry.NewService(registry.Options{
			Store: s, Sealer: sealer, Compile: compile.Compile, CompilerVersion: compile.Version, CheckURL: outbound.CheckURL,
			Random: rand.Reader, Clock: p.Clock,
		}),
		Accounts: account.NewService(account.Options{
			Store: s.Accounts(), Random: rand.Reader, Bootstrap: p.BootstrapAdmin(), Clock: p.Clock, Logger: p.Logger,
		}),
		Providers: providers, Tokens: s, Audit: s, Deliveries: deliveries,
		AuditExport: &auditexport.Exporter{Store: s, Clock: p.Clock},
		Runs:        s, Ledger: s, Config: s, Cost: s, Clock: p.Clock, Reconciliations: &toolcall.Reconciler{Store: s, Clock: p.Clock},
		Approvals: s, Secrets: sealer,
		Decisions:     p.Clerk(s),
		AgentSessions: &agentsession.Centre{Store: s.AgentCentre(), Clock: p.Clock, Logger: p.Logger},
		Reruns:        &job.Rerunner{Store: s, Queue: p.JobsQueue(), Clock: p.Clock, Logger: p.Logger},
		ServerToken:   p.Config.ServerToken, BodyMax: p.Config.BodyMax,
	})
	f, _ := topology.System().FunctionNamed("admin")
	mux, err := lambdahttp.Mux(f, h.Handlers())
	if err != nil {
		return nil, err
	}
	return lambdahttp.Handler(mux, p.HTTP()), nil
}
