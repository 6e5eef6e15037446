// Pins a published proxy for gRPC, beside which "make bench-cri" measures. It is a module
// of its own, so that its dependencies are not the operator's.
module kausality.io/operator/test/peers/grpc-proxy

go 1.26.0

require (
	github.com/siderolabs/grpc-proxy v0.5.1
	google.golang.org/grpc v1.82.1
)

require (
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	golang.org/x/net v0.53.0 // indirect
	golang.org/x/sys v0.43.0 // indirect
	golang.org/x/text v0.36.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
