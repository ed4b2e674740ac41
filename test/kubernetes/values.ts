/** Values of the chart: everything that is off by default, and files in place of a database. */

export const EVERYTHING = {
  replicaCount: 3,
  image: { repository: 'example.com/headgate', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'pull' }],
  secretKeys: { GATEWAY_REDIS_URL: 'redis-url' },
  settings: {
    GATEWAY_STATS__MAX_BYTES: 1_073_741_824,
    GATEWAY_OTEL__SAMPLE_RATIO: 0.25,
    GATEWAY_WORKERS: null,
  },
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=300' }],
  tls: { existingSecret: 'site' },
  service: {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    loadBalancerClass: 'example.com/lb',
    annotations: { a: 'b' },
  },
  serviceAccount: { annotations: { a: 'b' } },
  autoscaling: { enabled: true, behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } },
  networkPolicy: {
    enabled: true,
    trafficFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    managementFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    egress: [{ ports: [{ port: 443 }] }],
  },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    dashboards: { enabled: true },
  },
  podAnnotations: { a: 'b' },
  podLabels: { team: 'edge' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
  ],
  priorityClassName: 'high',
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/headgate/ca', readOnly: true }],
};
export const FILES = { configuration: { from: 'files', files: { 'gateway.yaml': 'apps: {}\n' } } };
