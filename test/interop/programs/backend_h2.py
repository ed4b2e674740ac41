"""The same as an ASGI application, which hypercorn serves over HTTP/2."""
import asyncio


async def app(scope, receive, send):
    if scope['type'] != 'http':
        raise NotImplementedError(scope['type'])
    body = b''
    more = True
    while more:
        message = await receive()
        body += message.get('body', b'')
        more = message.get('more_body', False)

    async def answer(status, content=b'', **fields):
        headers = [(name.replace('_', '-').encode(), value.encode()) for name, value in fields.items()]
        await send({'type': 'http.response.start', 'status': status, 'headers': headers})
        await send({'type': 'http.response.body', 'body': b'' if scope['method'] == 'HEAD' else content})

    path = scope['path']
    if path == '/echo':
        await answer(200, body, x_method=scope['method'], x_length=str(len(body)))
    elif path == '/pieces':
        await send({'type': 'http.response.start', 'status': 200, 'headers': []})
        for index in range(5):
            await send({'type': 'http.response.body', 'body': b'piece %d\n' % index, 'more_body': True})
            await asyncio.sleep(0.01)
        await send({'type': 'http.response.body', 'body': b''})
    elif path == '/big':
        await answer(200, b'0123456789' * 200_000)
    elif path == '/empty':
        await answer(204)
    elif path == '/moved':
        await answer(302, location='/echo')
    else:
        await answer(404, b'none\n')
