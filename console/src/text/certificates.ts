/** Words of the certificates of a gateway. */
export const certificatesWords = {
  title: 'Certificates of this gateway',
  text: 'Each name that has a certificate, or for which one is ordered. Certificates by ACME are renewed in time. You can order a new one earlier, such as after its key has leaked.',
  none: 'This gateway has no certificate and orders none.',
  columns: {
    name: 'Name',
    state: 'State',
    source: 'From',
    listener: 'Presented',
    expires: 'Valid until',
    order: 'Next order',
    actions: 'Actions',
  },
  sources: { file: 'a file', acme: 'ACME' },
  listeners: { traffic: 'for traffic', management: 'for management', backends: 'to backends' },
  states: {
    valid: 'valid',
    expires_soon: 'expires soon',
    expired: 'expired',
    not_valid_yet: 'not valid yet',
    missing: 'none yet',
  },
  underWay: 'under way',
  due: 'due',
  noOrder: 'none',
  failures: (count: number): string => `${count} failed in a row:`,
  renew: 'Renew',
  renewOf: (name: string): string => `Renew the certificate of ${name}`,
  renewTitle: (name: string): string => `Order a new certificate for ${name}?`,
  renewText:
    'The gateway that orders begins within seconds. The present one stays in use until the new one is there. Authorities limit how many they issue for a name in a week.',
  renewing: (name: string): string => `A new certificate is ordered for ${name}`,
} as const;
