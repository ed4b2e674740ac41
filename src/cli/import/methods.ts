/** Methods that endpoints may name; HEAD is served by the endpoint of GET. */
export const ENDPOINT_METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
