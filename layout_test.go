package bailing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailing/scripts/routes/handlers"
	"bailing/shared/topology"
)

const module = "bailing"

// kind is the place of a package in the order of imports (architecture §2).
type kind string

const (
	// pure packages compute: no I/O, no AWS, and of this module only other pure packages.
	pure kind = "pure"
	// domain packages decide, and declare the interfaces that they need from the world. They import pure packages and
	// domain packages of a lower rank.
	domain kind = "domain"
	// adapter packages reach the world and implement those interfaces.
	adapter kind = "adapter"
	// wiring joins all of them for a function.
	wiring kind = "wiring"
	// function packages hold handlers, and main in their bootstrap folder. No function imports another.
	function kind = "function"
	// local packages stand in for AWS. Only tests and scripts import them.
	local kind = "local"
	// helper packages are for tests only.
	helper kind = "helper"
	// client packages speak to a hub from outside: they know its wire, and nothing of the hub.
	client kind = "client"
	// script packages are programs for people.
	script kind = "script"
	// deployment packages are the CDK app. They alone know the CDK.
	deployment kind = "deployment"
)

// mayImport is the direction of imports between kinds, packages of the same room aside.
var mayImport = map[kind][]kind{
	pure:     {pure},
	domain:   {pure, domain},
	adapter:  {pure, domain},
	wiring:   {pure, domain, adapter},
	function: {pure, domain, adapter, wiring},
	local:    {pure},
	helper:   {pure, domain, adapter, wiring, local, helper},
	client:   {pure},
	script:   {pure, domain, adapter, wiring, function, local, client},

	deployment: {pure},
}

// room is a folder's kind, which holds for the folders below it that have no room of their own.
type room struct {
	kind kind
	rank int      // of a domain package
	also []string // what it imports although its kind may not
}

// rooms is the layout; a new package gets one line. The ranks of domain packages keep
// registry <- job, catalog <- approval <- toolcall <- agentrun. A call is made from a ticket, never a ticket from a call.
var rooms = map[string]room{
	"shared/apierr":               {kind: pure, also: []string{"net/http"}}, // writes the envelope
	"shared/audience":             {kind: pure},
	"shared/auditchain":           {kind: pure},
	"shared/canonical":            {kind: pure},
	"shared/capability":           {kind: pure},
	"shared/capability/compile":   {kind: pure, also: []string{yaml}},
	"shared/chance":               {kind: pure, also: []string{"crypto/rand"}}, // draws
	"shared/clock":                {kind: pure},
	"shared/contract":             {kind: pure},
	"shared/envelope":             {kind: pure, also: []string{"os"}}, // the key file of a local hub
	"shared/lambdahttp/routetree": {kind: pure},
	"shared/money":                {kind: pure},
	"shared/permission":           {kind: pure},
	"shared/plainjson":            {kind: pure},
	"shared/ratelimit":            {kind: pure},
	"shared/redact":               {kind: pure},
	"shared/signature":            {kind: pure},
	"shared/textlimit":            {kind: pure},
	"shared/topology":             {kind: pure, also: []string{"net/http"}}, // names of methods

	"shared/limit":    {kind: domain, rank: 0},
	"shared/model":    {kind: domain, rank: 0, also: []string{"net/http"}}, // what a status means
	"shared/registry": {kind: domain, rank: 1},
	"shared/job":      {kind: domain, rank: 2},
	"shared/catalog":  {kind: domain, rank: 2},
	"shared/account":  {kind: domain, rank: 2},

	"shared/agentsession": {kind: domain, rank: 3},

	"shared/auditexport": {kind: domain, rank: 3},

	"shared/delivery": {kind: domain, rank: 3, also: []string{guarded, "net/http"}}, // signs requests and judges answers
	"shared/approval": {kind: domain, rank: 3},

	"shared/approval/notify": {kind: domain, rank: 4},

	"shared/toolcall": {kind: domain, rank: 4, also: []string{guarded, "net/http"}}, // builds requests and judges their evidence
	"shared/jobrun":   {kind: domain, rank: 5},
	"shared/provider": {kind: domain, rank: 5, also: []string{guarded, "net/http"}}, // reads specifications and judges the answers

	"shared/lambdahttp":   {kind: adapter},
	"shared/model/openai": {kind: adapter, also: []string{guarded}},
	"shared/outbound":     {kind: adapter},
	"shared/queue":        {kind: adapter},
	"shared/store":        {kind: adapter},
	"shared/waits":        {kind: adapter},
	"shared/platform":     {kind: wiring},
	"shared/agentclient":  {kind: client},

	"shared/account/accounttest":   {kind: helper},
	"shared/awslocal":              {kind: local},
	"shared/awslocal/awslocaltest": {kind: helper},
	"shared/contract/contracttest": {kind: helper},
	"shared/crashtest":             {kind: helper},
	"shared/job/jobtest":           {kind: helper},
	"shared/registry/registrytest": {kind: helper},
	"shared/store/storetest":       {kind: helper},

	"shared/agentclient/agentclienttest": {kind: helper},

	"functions/admin":          {kind: function},
	"functions/agentauth":      {kind: function},
	"functions/approvals":      {kind: function},
	"functions/approvalwait":   {kind: function},
	"functions/callbackworker": {kind: function},
	"functions/jobworker":      {kind: function},
	"functions/refresher":      {kind: function},
	"functions/runs":           {kind: function},
	"functions/sweeper":        {kind: function},
	"scripts":                  {kind: script},
	"infra/machines":           {kind: pure},                                                            // knows no CDK: both hosts read the definitions
	"infra":                    {kind: deployment, also: []string{guarded, module + "/shared/account"}}, // checks options by them
}

// effects are packages of the standard library that pure and domain packages have no use for.
var effects = []string{
	"database/sql", "net", "net/http", "net/http/httputil", "os", "os/exec", "os/signal", "os/user", "plugin", "syscall", "testing",
}

// yaml is what only the functions that compile specifications may carry, because it triples the start of a Lambda.
const yaml = "go.yaml.in/yaml/v3"

// guarded names the requests, answers and evidence of the one client that leaves the product (I7). Its users declare the
// interface with which they send; the client comes from wiring.
const guarded = module + "/shared/outbound"

// aws are the modules that pure and domain packages do not know.
var aws = []string{"github.com/aws", "github.com/awslabs"}

// infrastructure belongs to infra alone, even in tests: building it takes minutes.
var infrastructure = []string{module + "/infra", "github.com/aws/aws-cdk-go", "github.com/aws/constructs-go", "github.com/aws/jsii-runtime-go"}

// definitions are the state machines, in a package of infra that needs nothing of the CDK.
const definitions = module + "/infra/machines"

// notInLambda is what no function may link, directly or not.
var notInLambda = slices.Concat(infrastructure, []string{
	module + "/shared/awslocal", module + "/scripts", "github.com/santhosh-tekuri/jsonschema", "testing",
})

// pkg is what `go list` says about a package.
type pkg struct {
	ImportPath, Dir, Name              string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
	Error                              *struct{ Err string }
}

// folder is the package's place below the root of the module.
func (p pkg) folder() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// packages lists everything below functions, shared and scripts.
func packages(t *testing.T) (all []pkg) {
	t.Helper()
	args := []string{"list", "-e", "-json=ImportPath,Dir,Name,GoFiles,Imports,TestImports,XTestImports,Deps,Error"}
	out, err := exec.Command("go", append(args, "./functions/...", "./shared/...", "./scripts/...")...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
}

// roomOf is the room of a folder, and the folder it was declared for.
func roomOf(folder string) (r room, declared string) {
	for declared = folder; declared != "."; declared = path.Dir(declared) {
		if r, ok := rooms[declared]; ok {
			return r, declared
		}
	}
	return room{}, ""
}

// below returns the first of paths that imported is, or lies below; "" when there is none.
func below(imported string, paths []string) string {
	for _, p := range paths {
		if imported == p || strings.HasPrefix(imported, p+"/") {
			return p
		}
	}
	return ""
}

// refuse says why the package in folder may not import another one; "" when it may.
func refuse(folder, imported string) string {
	r, declared := roomOf(folder)
	inside, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case below(imported, infrastructure) != "" && imported != definitions && r.kind != deployment:
		return "only infra knows the CDK"
	case slices.Contains(r.also, imported):
		return ""
	case !ours:
		return refuseOutside(r.kind, imported)
	}
	target, room := roomOf(inside)
	switch {
	case room == declared:
		return ""
	case !slices.Contains(mayImport[r.kind], target.kind):
		return fmt.Sprintf("%s may not import %s", r.kind, target.kind)
	case r.kind == domain && target.kind == domain && target.rank >= r.rank:
		return fmt.Sprintf("a domain package of rank %d may not import one of rank %d", r.rank, target.rank)
	}
	return ""
}

func refuseOutside(k kind, imported string) string {
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	switch {
	case k != pure && k != domain:
		return ""
	case below(imported, aws) != "":
		return fmt.Sprintf("a %s package knows no AWS", k)
	case slices.Contains(effects, imported):
		return fmt.Sprintf("a %s package does no I/O", k)
	case k == pure && !standard:
		return "a pure package needs nothing beyond the standard library"
	}
	return ""
}

func TestImportsKeepTheirDirection(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if _, declared := roomOf(p.folder()); declared == "" {
			t.Errorf("%s has no room: give it a line in the table of layout_test.go", p.folder())
			continue
		}
		for _, imported := range p.Imports {
			if reason := refuse(p.folder(), imported); reason != "" {
				t.Errorf("%s imports %s: %s", p.folder(), imported, reason)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if below(imported, infrastructure) != "" && imported != definitions {
				t.Errorf("a test of %s imports %s: only infra knows the CDK", p.folder(), imported)
			}
		}
	}
}

// The CDK app is read file by file: `go list` would fetch the CDK to tell what it imports.
func TestInfraKeepsTheDirectionOfImports(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("infra", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imported := range f.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				return err
			}
			if reason := refuse(filepath.ToSlash(filepath.Dir(name)), path); reason != "" {
				t.Errorf("%s imports %s: %s", name, path, reason)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestTheRulesOfImportsBite(t *testing.T) {
	t.Parallel()
	cases := []struct {
		folder, imported, want string
	}{
		{"shared/canonical", "strconv", ""},
		{"shared/canonical", "bailing/shared/textlimit", ""},
		{"shared/canonical", "bailing/shared/registry", "pure may not import domain"},
		{"shared/canonical", "net/http", "a pure package does no I/O"},
		{"shared/canonical", "net/url", ""},
		{"shared/apierr", "net/http", ""},
		{"shared/canonical", "github.com/aws/smithy-go", "a pure package knows no AWS"},
		{"shared/canonical", yaml, "a pure package needs nothing beyond the standard library"},
		{"shared/capability", yaml, "a pure package needs nothing beyond the standard library"},
		{"shared/capability/compile", yaml, ""},
		{"shared/job", "bailing/shared/registry", ""},
		{"shared/job", "bailing/shared/toolcall", "a domain package of rank 2 may not import one of rank 4"},
		{"shared/registry", "bailing/shared/job", "a domain package of rank 1 may not import one of rank 2"},
		{"shared/job", "bailing/shared/store", "domain may not import adapter"},
		{"shared/job", "github.com/aws/aws-sdk-go-v2/service/sqs", "a domain package knows no AWS"},
		{"shared/store", "bailing/shared/job", ""},
		{"shared/store", "bailing/shared/outbound", "adapter may not import adapter"},
		{"shared/model/openai", "bailing/shared/store", "adapter may not import adapter"},
		{"shared/model/openai", "bailing/shared/model", ""},
		{"shared/platform", "bailing/shared/store", ""},
		{"shared/platform", "bailing/shared/awslocal/sqs", "wiring may not import local"},
		{"functions/runs/bootstrap", "bailing/functions/runs", ""},
		{"functions/runs", "bailing/functions/admin", "function may not import function"},
		{"functions/runs", "bailing/shared/awslocal", "function may not import local"},
		{"functions/runs", "bailing/shared/store/storetest", "function may not import helper"},
		{"functions/runs", "bailing/scripts/local", "function may not import script"},
		{"functions/runs", "bailing/shared/agentclient", "function may not import client"},
		{"shared/agentclient", "bailing/shared/textlimit", ""},
		{"shared/agentclient", "bailing/shared/registry", "client may not import domain"},
		{"scripts/agent", "bailing/shared/agentclient", ""},
		{"shared/awslocal/dynamodb", "bailing/shared/awslocal/fault", ""},
		{"scripts/local", "bailing/functions/runs", ""},
		{"scripts/local", "github.com/aws/aws-cdk-go/awscdk/v2", "only infra knows the CDK"},
		{"scripts/local", "bailing/infra", "only infra knows the CDK"},
		{"scripts/local", "bailing/infra/stacks", "only infra knows the CDK"},
		{"scripts/local", "bailing/infra/machines", ""},
		{"shared/awslocal/provision", "bailing/infra/machines", ""},
		{"infra/machines", "github.com/aws/constructs-go/constructs/v10", "only infra knows the CDK"},
		{"infra/machines", "bailing/shared/topology", ""},
		{"shared/toolcall", "bailing/shared/outbound", ""},
		{"shared/jobrun", "bailing/shared/outbound", "domain may not import adapter"},
		{"infra/stacks", "github.com/aws/aws-cdk-go/awscdk/v2", ""},
		{"infra", "bailing/infra/stacks", ""},
		{"infra", "bailing/shared/topology", ""},
		{"infra/stacks", "bailing/shared/outbound", ""},
		{"infra/stacks", "bailing/shared/platform", "deployment may not import wiring"},
		{"infra/stacks", "bailing/functions/runs", "deployment may not import function"},
	}
	for _, tc := range cases {
		if got := refuse(tc.folder, tc.imported); got != tc.want {
			t.Errorf("%s imports %s: %q, want %q", tc.folder, tc.imported, got, tc.want)
		}
	}
}

func TestFunctionsLinkNothingHeavy(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name, isFunction := strings.CutPrefix(p.folder(), "functions/")
		if !isFunction {
			continue
		}
		for _, dep := range p.Deps {
			if below(dep, notInLambda) != "" {
				t.Errorf("%s links %s", p.folder(), dep)
			}
			if name, _, _ := strings.Cut(name, "/"); below(dep, []string{yaml}) != "" && name != "admin" && name != "refresher" {
				t.Errorf("%s links %s, which triples its start; only admin and refresher compile specifications", p.folder(), dep)
			}
		}
	}
}

func TestEveryFunctionOfTheTopologyHasItsFolder(t *testing.T) {
	t.Parallel()
	name := map[string]string{}
	for _, p := range packages(t) {
		name[p.folder()] = p.Name
	}
	known := map[string]bool{}
	for _, f := range topology.System().Functions {
		known[f.Package()] = true
		if name[f.Package()] == "" {
			t.Errorf("%s: there is no package %s", f.Name, f.Package())
		}
		if name[f.Package()+"/bootstrap"] != "main" {
			t.Errorf("%s: there is no program %s/bootstrap", f.Name, f.Package())
		}
	}
	for folder := range name {
		if path.Dir(folder) == "functions" && !known[folder] {
			t.Errorf("%s is in no topology", folder)
		}
	}
}

func TestEveryRouteHasItsHandler(t *testing.T) {
	t.Parallel()
	for _, f := range topology.System().Functions {
		if len(f.Routes) == 0 {
			continue
		}
		found, err := handlers.Find(filepath.FromSlash(f.Package()))
		if err != nil {
			t.Error(err)
		}
		for _, r := range f.Routes {
			if _, ok := found[r.Handler]; !ok {
				t.Errorf("%s %s: no type of %s has the method %s(http.ResponseWriter, *http.Request)", r.Method, r.Path, f.Package(), r.Handler)
			}
		}
	}
}

// A package says in doc.go what lives there; a program may say it above main.
func TestEveryPackageIntroducesItself(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		files := []string{"doc.go"}
		if p.Name == "main" {
			files = p.GoFiles
		}
		documented := slices.ContainsFunc(files, func(name string) bool {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
			return err == nil && f.Doc != nil && len(strings.TrimSpace(f.Doc.Text())) > 0
		})
		if !documented && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment in %s", p.folder(), strings.Join(files, " or "))
		}
	}
}

func TestEveryRoomExists(t *testing.T) {
	t.Parallel()
	for folder := range rooms {
		if info, err := os.Stat(filepath.FromSlash(folder)); err != nil || !info.IsDir() {
			t.Errorf("the table has a room for %s, which is not a folder", folder)
		}
	}
}
