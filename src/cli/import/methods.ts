/** Methods that endpoints may have. The endpoint of GET also serves HEAD. */
export const ENDPOINT_METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
