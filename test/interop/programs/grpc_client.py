"""
The interoperability cases of gRPC with the client of grpcio. Arguments: the folder of the generated modules, host and
port, a token, and the file of trusted certificates, or nothing for a connection without TLS. Prints what became of each
case as JSON: null where it passed, or what was wrong.
"""
import json
import queue
import sys
import traceback

import grpc

FOLDER, TARGET, TOKEN, CA_FILE = sys.argv[1:5]
sys.path.insert(0, FOLDER)
import testing_pb2 as messages  # noqa: E402
import testing_pb2_grpc as services  # noqa: E402

KEY = (('authorization', f'Bearer {TOKEN}'),)
REQUEST_SIZES = (27_182, 8, 1_828, 45_904)
RESPONSE_SIZES = (31_415, 9, 2_653, 58_979)


def output_request(*sizes, body=0, status=None):
    return messages.StreamingOutputCallRequest(
        response_parameters=[messages.ResponseParameters(size=size) for size in sizes],
        payload=messages.Payload(body=bytes(body)),
        response_status=status,
    )


class Sent:
    """Requests of a stream that are given one by one."""

    def __init__(self):
        self.waiting = queue.Queue()

    def __iter__(self):
        return iter(self.waiting.get, None)


def equal(found, wanted):
    assert found == wanted, f'{found!r} is not {wanted!r}'


def fails(call, code, details=None):
    try:
        call()
    except grpc.RpcError as error:
        equal(error.code(), code)
        if details is not None:
            equal(error.details(), details)
        return
    raise AssertionError(f'passed, and should fail with {code}')


def empty_unary(stub):
    equal(stub.EmptyCall(messages.Empty(), metadata=KEY), messages.Empty())


def large_unary(stub, **more):
    request = messages.SimpleRequest(response_size=314_159, payload=messages.Payload(body=bytes(271_828)))
    equal(stub.UnaryCall(request, metadata=KEY, **more).payload.body, bytes(314_159))


def client_compressed_unary(stub):
    large_unary(stub, compression=grpc.Compression.Gzip)


def client_streaming(stub):
    requests = [messages.StreamingInputCallRequest(payload=messages.Payload(body=bytes(size))) for size in REQUEST_SIZES]
    equal(stub.StreamingInputCall(iter(requests), metadata=KEY).aggregated_payload_size, 74_922)


def server_streaming(stub):
    answers = stub.StreamingOutputCall(output_request(*RESPONSE_SIZES), metadata=KEY)
    equal([len(answer.payload.body) for answer in answers], list(RESPONSE_SIZES))


def ping_pong(stub):
    sent = Sent()
    answers = stub.FullDuplexCall(iter(sent), metadata=KEY)
    for asked, size in zip(REQUEST_SIZES, RESPONSE_SIZES):
        sent.waiting.put(output_request(size, body=asked))
        equal(len(next(answers).payload.body), size)
    sent.waiting.put(None)
    equal(list(answers), [])


def empty_stream(stub):
    equal(list(stub.FullDuplexCall(iter(()), metadata=KEY)), [])


def timeout_on_sleeping_server(stub):
    sent = Sent()
    sent.waiting.put(output_request(body=27_182))
    fails(
        lambda: list(stub.FullDuplexCall(iter(sent), metadata=KEY, timeout=0.001)),
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )
    sent.waiting.put(None)


def cancel_after_begin(stub):
    sent = Sent()
    call = stub.StreamingInputCall.future(iter(sent), metadata=KEY)
    call.cancel()
    sent.waiting.put(None)
    equal(call.cancelled(), True)


def cancel_after_first_response(stub):
    sent = Sent()
    sent.waiting.put(output_request(31_415, body=27_182))
    answers = stub.FullDuplexCall(iter(sent), metadata=KEY)
    equal(len(next(answers).payload.body), 31_415)
    answers.cancel()
    sent.waiting.put(None)
    fails(lambda: next(answers), grpc.StatusCode.CANCELLED)


def status_code_and_message(stub, text='test status message'):
    status = messages.EchoStatus(code=2, message=text)
    unary = messages.SimpleRequest(response_status=status)
    fails(lambda: stub.UnaryCall(unary, metadata=KEY), grpc.StatusCode.UNKNOWN, text)
    duplex = iter((output_request(status=status),))
    fails(lambda: list(stub.FullDuplexCall(duplex, metadata=KEY)), grpc.StatusCode.UNKNOWN, text)


def special_status_message(stub):
    status_code_and_message(stub, '\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n')


def unimplemented_method(stub):
    fails(lambda: stub.UnimplementedCall(messages.Empty(), metadata=KEY), grpc.StatusCode.UNIMPLEMENTED)


def unimplemented_service(stub):
    other = services.UnimplementedServiceStub(stub.channel)
    fails(lambda: other.UnimplementedCall(messages.Empty(), metadata=KEY), grpc.StatusCode.UNIMPLEMENTED)


def custom_metadata(stub):
    initial = ('x-grpc-test-echo-initial', 'test_initial_metadata_value')
    trailing = ('x-grpc-test-echo-trailing-bin', b'\xab\xab\xab')
    request = messages.SimpleRequest(response_size=314_159)
    _, call = stub.UnaryCall.with_call(request, metadata=(*KEY, initial, trailing))
    equal(dict(call.initial_metadata()).get(initial[0]), initial[1])
    equal(dict(call.trailing_metadata()).get(trailing[0]), trailing[1])
    duplex = stub.FullDuplexCall(iter((output_request(9),)), metadata=(*KEY, initial, trailing))
    equal(len(list(duplex)), 1)
    equal(dict(duplex.initial_metadata()).get(initial[0]), initial[1])
    equal(dict(duplex.trailing_metadata()).get(trailing[0]), trailing[1])


def without_a_key(stub):
    fails(lambda: stub.EmptyCall(messages.Empty()), grpc.StatusCode.UNAUTHENTICATED)


CASES = (
    empty_unary, large_unary, client_compressed_unary, client_streaming, server_streaming, ping_pong, empty_stream,
    timeout_on_sleeping_server, cancel_after_begin, cancel_after_first_response, status_code_and_message,
    special_status_message, unimplemented_method, unimplemented_service, custom_metadata, without_a_key,
)  # fmt: skip


def outcome(case, stub):
    try:
        case(stub)
    except Exception:
        return traceback.format_exc()
    return None


def channel():
    if CA_FILE == '':
        return grpc.insecure_channel(TARGET)
    with open(CA_FILE, 'rb') as file:
        return grpc.secure_channel(TARGET, grpc.ssl_channel_credentials(file.read()))


with channel() as connection:
    stub = services.TestServiceStub(connection)
    stub.channel = connection
    print(json.dumps({case.__name__: outcome(case, stub) for case in CASES}))
