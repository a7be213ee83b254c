//! What is answered, by path: the endpoints of all models, and the router that is made of them.

mod asked;
mod changes;
mod commit;
mod graphs;
mod health;
mod ingest;
mod logs;
mod metrics;
mod named;
mod openapi;
mod parameters;
mod pulsora;
mod queries;
mod query;
mod root;
mod sql;
mod store;
mod tables;
mod tailing;
mod timelogs;
mod tokens;
mod topics;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};

pub use self::changes::commit_as_json;
use crate::config::Compat;
use crate::endpoint::{Class, Endpoint};
use crate::error::Failure;
use crate::state::AppState;
use crate::{cors, drain, hosts, layers, moments, request_id};

/// Longest body of a request that is read whole: a query's.
const SMALL_BODY_BYTES_MAX: usize = 4 << 20;

/// An endpoint of this server.
type Route = Endpoint<AppState>;

/// Everything that there is, model by model.
static ENDPOINTS: [&[Route]; 15] = [
    tables::ENDPOINTS,
    logs::ENDPOINTS,
    topics::ENDPOINTS,
    graphs::ENDPOINTS,
    timelogs::ENDPOINTS,
    commit::ENDPOINTS,
    changes::ENDPOINTS,
    sql::ENDPOINTS,
    store::ENDPOINTS,
    queries::ENDPOINTS,
    tokens::ENDPOINTS,
    metrics::ENDPOINTS,
    health::ENDPOINTS,
    openapi::ENDPOINTS,
    root::ENDPOINTS,
];

/// All endpoints, with those of the server whose clients are answered as it did, if there is one.
pub(crate) fn all(compat: Option<Compat>) -> impl Iterator<Item = &'static Route> {
    let theirs = match compat {
        None => &[][..],
        Some(Compat::Pulsora) => pulsora::ENDPOINTS,
    };
    ENDPOINTS.iter().copied().flatten().chain(theirs)
}

/// Leads a request of another server's client to what answers it.
pub(crate) fn lead<B>(compat: Option<Compat>, request: &mut Request<B>) {
    match compat {
        None => {}
        Some(Compat::Pulsora) => pulsora::lead(request),
    }
}

fn of_class(class: Class, compat: Option<Compat>) -> Router<AppState> {
    let such = all(compat).filter(|route| route.description.class == class);
    such.fold(Router::new(), |router, route| {
        router.route(route.description.path, (route.handler)())
    })
}

/// All routes.
pub(crate) fn router(state: &AppState) -> Router {
    let moment = || from_fn_with_state(state.clone(), moments::read_at);
    let small = DefaultBodyLimit::max(SMALL_BODY_BYTES_MAX);
    let of_class = |class| of_class(class, state.config.compat);
    let body = of_class(Class::Body).route_layer(moment());
    let waiting = of_class(Class::Waiting).route_layer(moment()).layer(small);
    let timed = of_class(Class::Timed)
        .route_layer(moment())
        .layer(small)
        .layer(from_fn_with_state(state.clone(), layers::in_time));
    let routes = body
        .merge(waiting)
        .merge(timed)
        .layer(from_fn_with_state(state.clone(), layers::bounded))
        .merge(of_class(Class::Watching))
        .route_layer(from_fn_with_state(state.clone(), layers::authorize))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path has other methods")
        })
        .layer(from_fn(layers::survive))
        .layer(from_fn_with_state(state.clone(), hosts::check))
        .layer(from_fn_with_state(state.clone(), layers::look))
        .layer(from_fn(drain::drain));
    let routes = match cors::layer(&state.config) {
        Some(layer) => routes.layer(layer),
        None => routes,
    };
    routes
        .layer(from_fn_with_state(state.clone(), layers::count))
        .layer(from_fn_with_state(state.io.clone(), request_id::identify))
        .with_state(state.clone())
}
