/** The frame of all pages: navigation at the side, on small screens behind a button; banners; the page. */
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { SaveProvider } from '../features/save/save-provider.tsx';
import { shellWords } from '../text/shell.ts';
import { words } from '../text/words.ts';
import { Button } from '../ui/controls/button.tsx';
import { AccountMenu, SchemeMenu } from './account-menu.tsx';
import { Banners } from './banners.tsx';
import { keepLostFocus } from '../page/lost-focus.ts';
import { sectionOf } from './section-of.ts';
import styles from './shell.module.css';

type NavigationPath = (typeof GROUPS)[number]['links'][number][0];

const { pages, groups } = shellWords;
const GROUPS = [
  {
    title: groups.traffic,
    links: [
      ['/', pages.overview],
      ['/live', pages.live],
      ['/explain', pages.explain],
      ['/shadow', pages.shadow],
    ],
  },
  {
    title: groups.configuration,
    links: [
      ['/apps', pages.apps],
      ['/keys', pages.keys],
      ['/edit', pages.edit],
      ['/history', pages.history],
      ['/audit', pages.audit],
    ],
  },
  {
    title: groups.operation,
    links: [
      ['/events', pages.events],
      ['/health', pages.health],
      ['/nodes', pages.nodes],
      ['/webhooks', pages.webhooks],
      ['/access', pages.access],
      ['/settings', pages.settings],
    ],
  },
] as const;

export function Shell(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(keepLostFocus, []);
  // A new page is read from its beginning, by screen readers too.
  useEffect(() => {
    setOpen(false);
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [pathname]);
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#content">
        {words.skipToContent}
      </a>
      <header className={styles['bar']}>
        <Link to="/" className={styles['brand']}>
          <img src="/icon.svg" alt="" width="26" height="26" />
          Headgate
        </Link>
        <span className={styles['toggle']}>
          <Button aria-expanded={isOpen} aria-controls="navigation" onClick={() => setOpen(!isOpen)}>
            {shellWords.openNavigation}
          </Button>
        </span>
      </header>
      <nav
        id="navigation"
        className={styles['navigation']}
        aria-label={shellWords.navigation}
        data-open={isOpen}
      >
        {GROUPS.map(({ title, links }) => (
          <div key={title} className={styles['group']}>
            <div className={styles['title']}>{title}</div>
            {links.map(([path, label]) => (
              <NavigationLink key={path} path={path} label={label} isCurrent={sectionOf(pathname) === path} />
            ))}
          </div>
        ))}
        <div className={styles['foot']}>
          <SchemeMenu />
          <AccountMenu />
        </div>
      </nav>
      <main id="content" ref={main} tabIndex={-1} className={styles['main']}>
        <Banners />
        <SaveProvider>
          <Outlet />
        </SaveProvider>
      </main>
    </div>
  );
}

function NavigationLink({
  path,
  label,
  isCurrent,
}: {
  readonly path: NavigationPath;
  readonly label: string;
  readonly isCurrent: boolean;
}): ReactNode {
  // The router's own mark goes by the start of the address alone.
  return (
    <Link
      to={path}
      className={styles['link']}
      activeOptions={{ exact: true, includeSearch: false }}
      data-current={isCurrent || undefined}
      aria-current={isCurrent ? 'page' : undefined}
    >
      {label}
    </Link>
  );
}
