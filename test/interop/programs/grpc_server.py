"""grpc.testing.TestService by grpcio. Arguments: the folder of the generated modules, and the port."""
import sys
import time
from concurrent import futures

import grpc

sys.path.insert(0, sys.argv[1])
import testing_pb2 as messages  # noqa: E402
import testing_pb2_grpc as services  # noqa: E402

INITIAL = 'x-grpc-test-echo-initial'
TRAILING = 'x-grpc-test-echo-trailing-bin'
CODES = {code.value[0]: code for code in grpc.StatusCode}


def payload(size):
    return messages.Payload(body=bytes(size))


def echo_metadata(context):
    asked = dict(context.invocation_metadata())
    if INITIAL in asked:
        context.send_initial_metadata(((INITIAL, asked[INITIAL]),))
    if TRAILING in asked:
        context.set_trailing_metadata(((TRAILING, asked[TRAILING]),))


def end_as_asked(request, context):
    if request.HasField('response_status') and request.response_status.code != 0:
        context.abort(CODES[request.response_status.code], request.response_status.message)


def pieces(request):
    for asked in request.response_parameters:
        time.sleep(asked.interval_us / 1e6)
        yield messages.StreamingOutputCallResponse(payload=payload(asked.size))


class TestService(services.TestServiceServicer):
    def EmptyCall(self, request, context):
        return messages.Empty()

    def UnaryCall(self, request, context):
        echo_metadata(context)
        end_as_asked(request, context)
        return messages.SimpleResponse(payload=payload(request.response_size))

    def StreamingOutputCall(self, request, context):
        end_as_asked(request, context)
        yield from pieces(request)

    def StreamingInputCall(self, requests, context):
        size = sum(len(request.payload.body) for request in requests)
        return messages.StreamingInputCallResponse(aggregated_payload_size=size)

    def FullDuplexCall(self, requests, context):
        echo_metadata(context)
        for request in requests:
            end_as_asked(request, context)
            yield from pieces(request)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=20))
services.add_TestServiceServicer_to_server(TestService(), server)
server.add_insecure_port(f'127.0.0.1:{sys.argv[2]}')
server.start()
server.wait_for_termination()
