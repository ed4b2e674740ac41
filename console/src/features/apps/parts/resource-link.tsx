/** Links to the pages of records, and the way from the apps down to one. */
import { Link, type LinkProps } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { appsWords } from '../../../text/apps.ts';
import { PAGES, levelOf, type ResourcePath } from '../resource-path.ts';

interface PageLink {
  readonly to: (typeof PAGES)[keyof typeof PAGES];
  readonly params: Readonly<Record<string, string>>;
}

/** For `navigate`, and for anything else that takes a link. */
export function pageLink(path: ResourcePath): never {
  const link: PageLink = { to: PAGES[levelOf(path)], params: { ...path } as Record<string, string> };
  // The router would check the parameters against one address; here the level decides which it is.
  return link as never;
}

interface ResourceLinkProps {
  readonly path: ResourcePath;
  readonly children: ReactNode;
  /** Reached by the arrow keys of the tree, so not by Tab. */
  readonly isInTree?: boolean;
}

export function ResourceLink({ path, children, isInTree = false }: ResourceLinkProps): ReactNode {
  const link: LinkProps = pageLink(path);
  return (
    <Link {...link} {...(isInTree && { tabIndex: -1, preload: false })}>
      {children}
    </Link>
  );
}

/** The path to the page; its title is the page itself. */
export function Trail({ path }: { readonly path: ResourcePath }): ReactNode {
  const { app, version, revision, endpoint } = path;
  const steps: (readonly [string, ResourcePath])[] = [];
  if (version !== undefined) steps.push([app, { app }]);
  if (revision !== undefined && version !== undefined) steps.push([version, { app, version }]);
  if (endpoint !== undefined && revision !== undefined) steps.push([revision, { app, version, revision }]);
  return (
    <nav aria-label={appsWords.trail}>
      <Link to="/apps">{appsWords.title}</Link>
      {steps.map(([label, to]) => (
        <Fragment key={label + Object.keys(to).length}>
          {' / '}
          <ResourceLink path={to}>{label}</ResourceLink>
        </Fragment>
      ))}
    </nav>
  );
}
