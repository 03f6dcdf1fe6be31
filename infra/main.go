// Command infra is the CDK app: it turns the topology into CloudFormation templates. The cdk command line runs it as
// cdk.json says and hands it the context; docs/deploy.md tells how to use it.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"bailing/infra/stacks"
	"bailing/shared/topology"
)

// buildDir is where `make build` leaves each function's bootstrap.
const buildDir = "build"

func main() {
	err := synth()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func synth() error {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	o, err := stacks.OptionsOf(app)
	if err != nil {
		return err
	}
	t := topology.System()
	if err := stacks.CheckBootstraps(buildDir, t); err != nil {
		return err
	}
	o.BuildDir = buildDir
	if err := stacks.Build(app, t, o); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
