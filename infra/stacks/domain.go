package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/jsii-runtime-go"
)

// addDomain serves the API under a name of the owner, too, and without the stage in the path. DNS is the owner's.
func (s *stateless) addDomain(api awsapigateway.RestApi) {
	o := s.options
	if o.DomainName == "" {
		return
	}
	domain := awsapigateway.NewDomainName(s.stack, jsii.String("domain"), &awsapigateway.DomainNameProps{
		DomainName:     jsii.String(o.DomainName),
		Certificate:    awscertificatemanager.Certificate_FromCertificateArn(s.stack, jsii.String("certificate"), jsii.String(o.CertificateARN)),
		EndpointType:   awsapigateway.EndpointType_REGIONAL,
		SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
	})
	domain.AddBasePathMapping(api, &awsapigateway.BasePathMappingOptions{Stage: api.DeploymentStage()})
	output(s.stack, "DomainTarget", *domain.DomainNameAliasDomainName(), "what the domain's CNAME or alias record points at")
	output(s.stack, "DomainTargetZone", *domain.DomainNameAliasHostedZoneId(), "the hosted zone of that target, for an alias record")
}

// protect puts a WAF in front of the stage. It holds a limit per address and AWS's list of bad addresses, and no rule that
// reads bodies: the managed ones refuse bodies above 8 KB and text that looks like code, which jobs are full of.
func (s *stateless) protect(api awsapigateway.RestApi) {
	if s.options.WAFRateLimit == 0 {
		return
	}
	visible := func(name string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
		return &awswafv2.CfnWebACL_VisibilityConfigProperty{
			CloudWatchMetricsEnabled: jsii.Bool(true), MetricName: jsii.String(s.options.TablePrefix + name),
			SampledRequestsEnabled: jsii.Bool(false), // samples hold headers, and those hold tokens
		}
	}
	acl := awswafv2.NewCfnWebACL(s.stack, jsii.String("waf"), &awswafv2.CfnWebACLProps{
		Name:             jsii.String(s.options.TablePrefix + "api"),
		Scope:            jsii.String("REGIONAL"),
		DefaultAction:    &awswafv2.CfnWebACL_DefaultActionProperty{Allow: &awswafv2.CfnWebACL_AllowActionProperty{}},
		VisibilityConfig: visible("waf"),
		Rules: &[]*awswafv2.CfnWebACL_RuleProperty{
			{
				Name: jsii.String("rate"), Priority: jsii.Number(0), VisibilityConfig: visible("waf-rate"),
				Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: &awswafv2.CfnWebACL_BlockActionProperty{}},
				Statement: &awswafv2.CfnWebACL_StatementProperty{
					RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
						AggregateKeyType: jsii.String("IP"), Limit: jsii.Number(s.options.WAFRateLimit), EvaluationWindowSec: jsii.Number(300),
					},
				},
			},
			{
				Name: jsii.String("reputation"), Priority: jsii.Number(1), VisibilityConfig: visible("waf-reputation"),
				OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: map[string]any{}},
				Statement: &awswafv2.CfnWebACL_StatementProperty{
					ManagedRuleGroupStatement: &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{
						VendorName: jsii.String("AWS"), Name: jsii.String("AWSManagedRulesAmazonIpReputationList"),
					},
				},
			},
		},
	})
	awswafv2.NewCfnWebACLAssociation(s.stack, jsii.String("waf-stage"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: api.DeploymentStage().StageArn(), WebAclArn: acl.AttrArn(),
	})
}
