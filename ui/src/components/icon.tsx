const PATHS = {
  logo: 'M6 4v16M18 4v16M6 8h10m0 0-3-2.5M16 8l-3 2.5M18 16H8m0 0 3-2.5M8 16l3 2.5',
  agents: 'M12 8V5m-5 3h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Zm2 5v1m6-1v1',
  play: 'M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-6l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2Z',
  runs: 'M4 6h16M4 12h16M4 18h10',
  metrics: 'M4 20V10m5 10V4m6 16v-8m5 8V7',
  evals: 'M9 4h6v3H9zM9 5H6v15h12V5h-3M9 13l2 2 4-4',
  'thumb-down': 'M8 5h9l3 7v2h-6l1 5-2 1-5-7Zm0 0H4v8h4',
  approvals: 'M4 13h4l2 3h4l2-3h4M4 13l3-8h10l3 8v6H4Z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2m9-9h-2M5 12H3m15.4-6.4L17 7M7 17l-1.4 1.4m12.8 0L17 17M7 7 5.6 5.6',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z',
  auto: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 0v18',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'm5 13 4 4L19 7',
  chevron: 'm9 6 6 6-6 6',
  previous: 'm15 6-6 6 6 6',
  close: 'M6 6l12 12M18 6 6 18',
  download: 'M12 4v11m0 0 4-4m-4 4-4-4M5 20h14',
  stop: 'M7 7h10v10H7z',
  go: 'M8 5l11 7-11 7Z',
  pause: 'M8 5v14M16 5v14',
  send: 'M5 12h14m0 0-6-6m6 6-6 6',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12Zm9 15-4.5-4.5',
  loop: 'M4 12a8 8 0 0 1 14-5l2 2m0-5v5h-5M20 12a8 8 0 0 1-14 5l-2-2m0 5v-5h5',
  edit: 'm4 20 1-4L16 5l3 3L8 19Zm10-13 3 3',
  attach: 'm20 11-8 8a5 5 0 0 1-7-7l8-8a3.5 3.5 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  fit: 'M4 9V4h5m6 0h5v5m0 6v5h-5m-6 0H4v-5',
  trash: 'M5 7h14M10 7V4h4v3m-7 0 1 13h8l1-13',
  report: 'M6 3h9l4 4v14H6Zm3 8h6m-6 4h6',
  compare: 'M4 5h7v14H4zM13 5h7v14h-7z',
  'kind-agent': 'M12 8V5m-5 3h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Zm2 5v1m6-1v1',
  'kind-model': 'm12 3 2.2 6.8L21 12l-6.8 2.2L12 21l-2.2-6.8L3 12l6.8-2.2Z',
  'kind-tool': 'M14 6a4 4 0 0 1 5-1l-3 3 1 2 3-1a4 4 0 0 1-6 4l-7 7-2-2 7-7a4 4 0 0 1 2-5Z',
  'kind-memory':
    'M5 6c0-1.7 3-3 7-3s7 1.3 7 3-3 3-7 3-7-1.3-7-3Zm0 0v12c0 1.7 3 3 7 3s7-1.3 7-3V6M5 12c0 1.7 3 3 7 3s7-1.3 7-3',
  'kind-module': 'm12 3 8 4.5v9L12 21l-8-4.5v-9Zm0 9 8-4.5M12 12v9m0-9L4 7.5',
  'kind-response': 'M5 5h14v10h-8l-5 4v-4H5Z',
} as const

export type IconName = keyof typeof PATHS

/** Path of an icon in a square of 24, for drawings that hold it. */
export function pathOf(name: IconName): string {
  return PATHS[name]
}

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
